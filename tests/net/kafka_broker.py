#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# timeout: 1800
"""Two receivers with TYPE = kafka before a real broker, under load: receivers and the broker are killed again and again, and
lanes move from one receiver to the other. Consumers of committed records see each once, in the order of its stream.

    K2HFT_KAFKA=FOLDER tests/net/kafka_broker.py [PRODUCERS COUNT RATE KILLS]

FOLDER has the jars of Apache Kafka 4, as mvn dependency:copy-dependencies brings them for org.apache.kafka:kafka_2.13.
"""
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

BIN = os.path.abspath(os.path.join(os.environ.get("B", "build"), "bin"))
JARS = os.environ.get("K2HFT_KAFKA", "")
PRODUCERS, COUNT, RATE, KILLS = (int(text) for text in sys.argv[1:5]) if len(sys.argv) > 4 else (60, 2000, 200, 6)


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def answers(address):
    host, port = address.rsplit(":", 1)
    for _ in range(600):
        try:
            socket.create_connection((host, int(port))).close()
            return
        except ConnectionRefusedError:
            time.sleep(0.1)
    raise TimeoutError(f"no broker at {address}")


class Child:
    def __init__(self, work, name, command):
        self.command = command
        self.log = open(f"{work}/{name}.log", "ab")
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def again(self):
        self.kill()
        self.start()


def broker_open(work):
    port, controller = free_port(), free_port()
    conf = f"{work}/broker.properties"
    with open(conf, "w", encoding="utf-8") as file:
        file.write(f"process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@127.0.0.1:{controller}\n"
                   f"listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}\n"
                   f"controller.listener.names=CONTROLLER\nlog.dirs={work}/broker\nnum.partitions=6\n"
                   "offsets.topic.replication.factor=1\ntransaction.state.log.replication.factor=1\n"
                   "transaction.state.log.min.isr=1\ntransaction.state.log.num.partitions=4\n")
    java = ["java", "-Xmx512m", "-XX:+UseSerialGC", "-cp", f"{JARS}/*"]
    subprocess.run([*java, "kafka.tools.StorageTool", "format", "-t", "AAAAAAAAAAAAAAAAAAAAAA", "-c", conf], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return f"127.0.0.1:{port}", Child(work, "broker", [*java, "kafka.Kafka", conf])


def receiver_open(work, name, port, brokers):
    conf = f"{work}/{name}.ini"
    with open(conf, "w", encoding="utf-8") as file:
        file.write(f"[GLOBAL]\nPORT = {port}\nSSL = no\n[K2HFTFUSESVR]\nTYPE = kafka\nSTATEDIR = {work}/{name}\n"
                   f"KAFKA_BROKERS = {brokers}\nKAFKA_TOPIC = logs\n")
    return Child(work, name, [f"{BIN}/k2hftfusesvr", "-conf", conf])


def run(work, children):
    brokers, broker = broker_open(work)
    children.append(broker)
    answers(brokers)
    ports = [free_port(), free_port()]
    receivers = [receiver_open(work, f"receiver{number}", port, brokers) for number, port in enumerate(ports)]
    children += receivers
    with open(f"{work}/sender.ini", "w", encoding="utf-8") as file:
        file.write("[GLOBAL]\nSSL = no\n" + "".join(f"[SVRNODE]\nNAME = 127.0.0.1\nPORT = {port}\n" for port in ports) +
                   "[K2HFTFUSE]\nFAILOVERTIME = 2\n")
    made = subprocess.Popen([f"{BIN}/k2hft", "verify", "--make", "-q", "-c", f"{work}/sender.ini", "-t", "stream", "--producers",
                             str(PRODUCERS), "-n", str(COUNT), "--rate", str(RATE), "--timeout", "600"])
    try:
        for number in range(KILLS):
            time.sleep(1.5)
            receiver = receivers[number % 2]
            receiver.kill()
            # Every third death lasts until its lane has moved.
            time.sleep(6 if number % 3 == 2 else 0.2)
            receiver.start()
            if number % 6 == 1:
                broker.again()
        assert made.wait(900) == 0, "not everything was acknowledged"
    finally:
        made.kill()
        made.wait()
    answers(brokers)
    subprocess.run([f"{BIN}/k2hft", "verify", "--kafka", brokers, "--producers", str(PRODUCERS), "--expect-all", str(COUNT), "-q",
                    "logs"], check=True, timeout=600)


def main():
    if not shutil.which("java") or not os.path.isdir(JARS):
        print("SKIP: no Java, or K2HFT_KAFKA names no folder with the jars of Apache Kafka")
        sys.exit(77)
    children = []
    with tempfile.TemporaryDirectory() as work:
        try:
            run(work, children)
        except BaseException:
            for name in ("receiver0", "receiver1"):
                with open(f"{work}/{name}.log", encoding="utf-8", errors="replace") as log:
                    print(f"{name}:", log.read()[-6000:])
            raise
        finally:
            for child in children:
                child.kill()


if __name__ == "__main__":
    main()
