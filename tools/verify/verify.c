/* SPDX-License-Identifier: MIT */
/* k2hft verify: makes records that can be told apart, and checks what arrived of them. */
#include "tools/verify/verify.h"

#include <stdlib.h>

#include "tools/base/numbers.h"
#include "tools/base/commands.h"

static const char help[] =
	"usage: k2hft verify [OPTION]... FILE...\n"
	"   or: k2hft verify --kafka BROKERS [OPTION]... TOPIC...\n"
	"   or: k2hft verify --make [OPTION]... FILE\n"
	"   or: k2hft verify --make [OPTION]... {-r HOST[:PORT] | -c FILE | --attach RING} -t STREAM\n"
	"Makes records with producer, number and checksum; and reads where they arrived, the files one\n"
	"after the other, once: what is missing, repeated, out of order or damaged. - is standard input.\n\n"
	"      --expect P=COUNT      producer P has made COUNT records; may be given several times\n"
	"      --expect-all COUNT    every producer has\n"
	"      --producers P         there are the producers 1 to P\n"
	"      --first N             the first record of each has number N (1)\n"
	"      --run RUN             only this run counts; other records are foreign\n"
	"      --allow-missing-tail  records missing at the end, or a cut last line, are no error\n"
	"      --only                a line that is not a record is an error\n"
	"      --prefix              a line may have other text before its record\n"
	"      --inside              also behind it, as a FORMAT of the receiver adds\n"
	"      --order WHERE         where order is looked at: in all files as one, each file, none (all)\n"
	"      --retracted LIST      leaves out the ranges of a receiver's list; several times: of each\n"
	"      --kafka BROKERS       reads topics: HOST:PORT, and more with commas; what is committed, each\n"
	"                            partition once, as a file\n"
	"      --kafka-option N=V    a setting of librdkafka; several times: of each\n"
	"      --limit N             lists this many findings and missing ranges (20)\n\n"
	"      --make                makes records:\n"
	"  -n, --count COUNT         this many of each producer (100000)\n"
	"      --bytes N             until each producer has made this many bytes\n"
	"      --seconds S           for this long\n"
	"      --rate R              at most this many a second of each producer\n"
	"      --size MIN[-MAX]      length with line end: from 10, below 24 without run (100)\n"
	"      --producers P         this many threads (1), each to its own file or stream, FILE.1 to FILE.P\n"
	"      --shared              all producers write to FILE itself\n"
	"      --producer N          the number of the first one (1)\n"
	"      --first N             counts from N on; the file is kept and goes on\n"
	"      --append              opens with O_APPEND and keeps the file's content\n"
	"      --append-each         the same, one write(2) for each record\n"
	"      --reopen              the same, and opens the file again for each\n"
	"      --write-bytes N       each write(2) has N bytes, wherever records end\n"
	"      --sync                calls fsync(2) at the end\n"
	"      --seed N              the same seed makes the same bytes; default: random\n"
	"  -r, --receiver HOST[:PORT]  through the library to this receiver; the port is " RECEIVER_PORT_DEFAULT "\n"
	"  -c, --config FILE         to the receiver of this configuration file\n"
	"      --attach RING         into the ring of another process\n"
	"  -t, --stream PATH         the stream's name\n"
	"      --ring FILE           keeps in FILE what is not acknowledged\n"
	"      --timeout SECONDS     waits this long for room, and for the acknowledgement of everything (30)\n\n"
	"      --json                prints JSON\n"
	"      --table               prints a table for scripts, tab-separated\n"
	"  -q, --quiet               prints what is wrong, and nothing if all is fine\n"
	"  -h, --help                this text\n\n"
	"Exit status: 0 all is fine, 1 it failed, 2 wrong arguments or configuration, 3 records are missing,\n"
	"repeated, out of order or damaged.\n";

int k2i_command_verify(int argc, char **argv)
{
	struct verify_options options;
	int status = verify_options_parse(&options, help, argc, argv);

	if (status == STATUS_OK && !options.help)
		status = options.make ? verify_make(&options) : verify_read(&options);
	free(options.expected);
	free(options.retracted);
	free(options.kafka_options);
	return status;
}
