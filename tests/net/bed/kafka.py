# SPDX-License-Identifier: MIT
"""A broker of Apache Kafka in KRaft mode, and receivers with TYPE = kafka before it, all on this host."""
import os
import shutil
import socket
import subprocess
import sys

from parts.process import Process, Trouble, wait_until

BIN = os.path.abspath(os.path.join(os.environ.get("B", "build"), "bin"))
JARS = os.environ.get("K2HFT_KAFKA", "")


def kafka_missing(build):
    """Why there is no broker; else None. K2HFT_KAFKA: a folder with the jars of Apache Kafka 4, as
    mvn dependency:copy-dependencies brings them for org.apache.kafka:kafka_2.13."""
    return ("Java is not installed" if not shutil.which("java") else
            "K2HFT_KAFKA names no folder with the jars of Apache Kafka" if not os.path.isdir(JARS) else
            "kafka.so is not built: librdkafka is not installed" if not os.path.exists(f"{build}/lib/k2hft/kafka.so") else None)


def skip_without_kafka():
    if kafka_missing(f"{BIN}/.."):
        print(f"SKIP: {kafka_missing(f'{BIN}/..')}")
        sys.exit(77)


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def answers(address):
    host, port = address.rsplit(":", 1)
    with socket.socket() as asking:
        return asking.connect_ex((host, int(port))) == 0


class Server:
    """A process at an address, which can be killed and started again."""

    def __init__(self, name, address, log, command):
        self.name, self.address, self.log, self.command = name, address, log, command
        self.process = None
        self.start()

    def start(self):
        self.process = Process(self.name, self.command, self.log)

    def kill(self):
        self.process.kill()

    def ready(self):
        wait_until(lambda: answers(self.address) or not self.process.alive(), 120, f"{self.name} answers")
        if not self.process.alive():
            raise Trouble(f"{self.name} ends; {self.process.last_lines()}")

    def said(self):
        """In all its lives."""
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()


JAVA = ["java", "-Xmx512m", "-XX:+UseSerialGC", "-cp", f"{JARS}/*"]


def broker(work, partitions=6):
    port, controller = free_port(), free_port()
    conf = f"{work}/broker.properties"
    with open(conf, "w", encoding="utf-8") as file:
        file.write(f"process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@127.0.0.1:{controller}\n"
                   f"listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}\n"
                   f"controller.listener.names=CONTROLLER\nlog.dirs={work}/broker\nnum.partitions={partitions}\n"
                   "offsets.topic.replication.factor=1\ntransaction.state.log.replication.factor=1\n"
                   "transaction.state.log.min.isr=1\ntransaction.state.log.num.partitions=4\n")
    subprocess.run([*JAVA, "kafka.tools.StorageTool", "format", "-t", "AAAAAAAAAAAAAAAAAAAAAA", "-c", conf], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
    made = Server("broker", f"127.0.0.1:{port}", f"{work}/broker.log", [*JAVA, "kafka.Kafka", conf])
    made.ready()
    return made


def gateway(work, name, brokers, topic="logs"):
    port = free_port()
    conf = f"{work}/{name}.ini"
    with open(conf, "w", encoding="utf-8") as file:
        file.write(f"[GLOBAL]\nPORT = {port}\nSSL = no\n[K2HFTFUSESVR]\nTYPE = kafka\nSTATEDIR = {work}/{name}\n"
                   f"KAFKA_BROKERS = {brokers}\nKAFKA_TOPIC = {topic}\n")
    made = Server(name, f"127.0.0.1:{port}", f"{work}/{name}.log", [f"{BIN}/k2hftfusesvr", "-conf", conf])
    made.ready()
    return made
