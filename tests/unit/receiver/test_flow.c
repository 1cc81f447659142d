/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "base/clock.h"
#include "receiver/base/counters.h"

static struct k2i_flows flows;

static struct k2i_flow *take(unsigned number)
{
	char path[16];

	(void)snprintf(path, sizeof(path), "log%u", number);
	return k2i_flow_take(&flows, path, "host");
}

TEST(test_a_stream_has_one_place)
{
	struct k2i_flow *flow;

	k2i_flows_start(&flows);
	flow = take(1);
	assert_non_null(flow);
	assert_ptr_equal(take(1), flow);
	assert_ptr_not_equal(k2i_flow_take(&flows, "log1", "other"), flow);
	k2i_count(&flow->records, 7);
	k2i_flow_give(&flows, flow);
	k2i_flow_give(&flows, flow);
	/* It comes again. */
	assert_ptr_equal(take(1), flow);
	assert_int_equal(atomic_load(&flow->records), 7);
	k2i_flows_end(&flows);
}

static void count_one(void *argument, const char *path, const char *host, const struct k2i_flow_values *values)
{
	assert_string_equal(host, "host");
	assert_non_null(path);
	*(uint64_t *)argument += values->records;
}

TEST(test_the_idle_make_room_and_no_others)
{
	struct k2i_flow *all[K2I_FLOWS_MAX], *idle;
	uint64_t records = 0;

	memset(&flows, 0, sizeof(flows));
	k2i_flows_start(&flows);
	for (unsigned number = 0; number < K2I_FLOWS_MAX; number++) {
		all[number] = take(number);
		assert_non_null(all[number]);
		k2i_count(&all[number]->records, 1);
		atomic_store(&all[number]->last_ns, 1000 - number);
	}
	assert_null(take(K2I_FLOWS_MAX));
	k2i_flow_give(&flows, NULL);
	k2i_flow_give(&flows, all[3]);
	k2i_flow_give(&flows, all[9]);
	/* The ninth was idle for longer. */
	idle = take(K2I_FLOWS_MAX);
	assert_ptr_equal(idle, all[9]);
	assert_int_equal(atomic_load(&idle->records), 0);
	k2i_flows_each(&flows, count_one, &records);
	assert_int_equal(records, K2I_FLOWS_MAX - 1);
	k2i_flows_end(&flows);
}

TEST(test_a_clock_that_is_ahead_is_counted)
{
	static struct k2i_counters counters;
	struct k2i_histogram of = {{0}, 0};
	struct k2i_latency latency;
	uint64_t now_ns = k2i_clock_ns(CLOCK_REALTIME);

	k2i_counters_latency(&counters, &of, 3, now_ns + 100 * K2I_SECOND_NS);
	assert_int_equal(atomic_load(&counters.early_chunks), 3);
	k2i_histogram_copy(&counters.latency, &latency);
	assert_int_equal(latency.chunks[0], 3);
	k2i_counters_latency(&counters, NULL, 2, now_ns - 100 * K2I_SECOND_NS);
	assert_int_equal(atomic_load(&counters.early_chunks), 3);
	k2i_histogram_copy(&counters.latency, &latency);
	assert_int_equal(latency.chunks[K2I_LATENCY_BUCKETS - 1], 2);
	assert_in_range(latency.sum_us, 200000000, 260000000);
	k2i_histogram_copy(&of, &latency);
	assert_int_equal(k2i_latency_count(&latency), 3);
}

TEST(test_a_label_is_escaped)
{
	struct k2i_report report = {0};

	k2i_report_label(&report, "a", "x\\y\"\n\xff\xc3\xa9");
	k2i_report_label(&report, "b", "");
	assert_string_equal(report.text, "a=\"x\\\\y\\\"?\xef\xbf\xbd\xc3\xa9\",b=\"\"");
	free(report.text);
}

TEST(test_the_same_labels_are_there_once)
{
	struct k2i_flow_samples samples = {0};
	struct k2i_flow_values values = {5, 50, 0, {{0}, 0}};
	struct k2i_report report = {0};

	for (unsigned number = 0; number < 40; number++) {
		struct k2i_report labels = {0};

		k2i_report_label(&labels, "sender", number % 2 ? "odd" : "even");
		k2i_flow_sample_add(&samples, &labels, &values);
	}
	assert_int_equal(samples.count, 2);
	k2i_flow_metrics(&report, "sender", &samples);
	assert_non_null(strstr(report.text, "k2hft_receiver_sender_records_total{sender=\"odd\"} 5\n"));
	assert_non_null(strstr(report.text, "k2hft_receiver_sender_latency_seconds_count{sender=\"even\"} 0\n"));
	/* Nothing was committed, so there is no time of it. */
	assert_null(strstr(report.text, "age_seconds{"));
	free(report.text);
}
