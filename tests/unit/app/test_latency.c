/* SPDX-License-Identifier: MIT */

#include "unit.h"
#include "app/program/latency.h"
#include "base/clock.h"

TEST(test_buckets)
{
	assert_int_equal(k2i_latency_bucket(0), 0);
	assert_int_equal(k2i_latency_bucket(K2I_MILLISECOND_NS), 0);
	assert_int_equal(k2i_latency_bucket(K2I_MILLISECOND_NS + 1), 1);
	assert_int_equal(k2i_latency_bucket(60 * K2I_SECOND_NS), K2I_LATENCY_BUCKETS - 2);
	assert_int_equal(k2i_latency_bucket(60 * K2I_SECOND_NS + 1), K2I_LATENCY_BUCKETS - 1);
	assert_int_equal(k2i_latency_bucket(UINT64_MAX), K2I_LATENCY_BUCKETS - 1);
}

TEST(test_quantiles)
{
	struct k2i_latency latency = {.chunks = {900, 0, 90, [K2I_LATENCY_BUCKETS - 1] = 10}};

	assert_int_equal(k2i_latency_count(&latency), 1000);
	assert_int_equal(k2i_latency_quantile_ms(&latency, 500), 1);
	assert_int_equal(k2i_latency_quantile_ms(&latency, 900), 1);
	assert_int_equal(k2i_latency_quantile_ms(&latency, 901), 5);
	assert_int_equal(k2i_latency_quantile_ms(&latency, 990), 5);
	assert_true(k2i_latency_quantile_ms(&latency, 991) == UINT64_MAX);
}

TEST(test_metrics)
{
	struct k2i_latency latency = {.chunks = {3, 4, [K2I_LATENCY_BUCKETS - 1] = 1}, .sum_us = 1500};
	struct k2i_report plain = {0}, labelled = {0};

	k2i_latency_metrics(&plain, K2I_LATENCY_NAME, &latency, "");
	assert_non_null(strstr(plain.text, "_bucket{le=\"0.001\"} 3\n"));
	assert_non_null(strstr(plain.text, "_bucket{le=\"0.002\"} 7\n"));
	assert_non_null(strstr(plain.text, "_bucket{le=\"60\"} 7\n"));
	assert_non_null(strstr(plain.text, "_bucket{le=\"+Inf\"} 8\n"));
	assert_non_null(strstr(plain.text, "_sum 0.001500\n"));
	assert_non_null(strstr(plain.text, "_count 8\n"));
	k2i_latency_metrics(&labelled, K2I_LATENCY_NAME, &latency, "target=\"x\"");
	assert_non_null(strstr(labelled.text, "_bucket{target=\"x\",le=\"0.001\"} 3\n"));
	assert_non_null(strstr(labelled.text, "_count{target=\"x\"} 8\n"));
	free(plain.text);
	free(labelled.text);
}
