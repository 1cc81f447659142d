/* SPDX-License-Identifier: MIT */
/* A Kafka topic as a file: a thread reads it, through the receiver's module, into a pipe. */
#include "tools/verify/topic.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/thread.h"
#include "tools/verify/verify.h"

static int bytes_write(void *argument, const char *bytes, size_t count)
{
	const struct verify_topic *topic = argument;

	while (count) {
		ssize_t written = write(topic->descriptor, bytes, count);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -errno;
		bytes += written;
		count -= (size_t)written;
	}
	return 0;
}

static void *topic_run(void *argument)
{
	struct verify_topic *topic = argument;

	topic->error = topic->tools->read(&topic->topic, topic->reason, sizeof(topic->reason));
	(void)close(topic->descriptor);
	return NULL;
}

int verify_topic_open(struct verify_topic *topic, const char *brokers, const char *name, const char *options)
{
	char reason[PATH_MAX + 256];
	int ends[2], error;

	*topic = (struct verify_topic){
		.topic = {
			.brokers = brokers, .name = name, .options = options, .take = bytes_write, .argument = topic}};
	topic->tools = k2i_module_load("kafka", "k2i_kafka_tools", reason, sizeof(reason));
	if (!topic->tools) {
		verify_error("--kafka: %s", reason);
		return -ENOENT;
	}
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	topic->descriptor = ends[1];
	error = k2i_thread_start(&topic->thread, topic_run, topic);
	if (!error)
		return ends[0];
	(void)close(ends[0]);
	(void)close(ends[1]);
	return error;
}

int verify_topic_close(struct verify_topic *topic)
{
	(void)pthread_join(topic->thread, NULL);
	if (topic->error)
		verify_error("%s", *topic->reason ? topic->reason : strerror(-topic->error));
	return topic->error;
}
