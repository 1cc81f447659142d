/* SPDX-License-Identifier: MIT */
#include "model.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * explore STATES ORDERS [SCENARIO [ordered|weak]]: up to STATES states of each scenario, or of one, in each of ORDERS
 * orders, with both memories, or one. explore STATES ORDERS mutations: each mutation in its scenario. Exit status 1: a
 * violation, or a mutation that was not found.
 */
static uint64_t states_max;
static unsigned orders;

static const char *memory_name(bool weak)
{
	return weak ? "weak" : "ordered";
}

static bool scenario_run(const struct model_scenario *scenario, bool weak)
{
	struct model_result result;

	model_weak = weak;
	model_explore(scenario, states_max, orders, true, &result);
	printf("%-20s %-8s %9" PRIu64 " %9" PRIu64 " %8" PRIu64 " %8" PRIu64 "  %s\n", scenario->name,
	       memory_name(weak), result.states, result.steps, result.ends, result.cut,
	       result.violated    ? "VIOLATED"
	       : result.exhausted ? "complete"
				  : "limit");
	(void)fflush(stdout);
	return !result.violated;
}

static bool scenarios_run(const char *name, const char *memory)
{
	bool right = true, known = false;

	printf("%-20s %-8s %9s %9s %8s %8s\n", "scenario", "memory", "states", "steps", "ends", "cut");
	for (unsigned at = 0; at < model_scenario_count; at++)
		for (unsigned weak = 0; weak < 2; weak++) {
			if (name && strcmp(name, model_scenarios[at].name) != 0)
				continue;
			if (memory && strcmp(memory, memory_name(weak)) != 0)
				continue;
			known = true;
			right &= scenario_run(&model_scenarios[at], weak);
		}
	if (!known)
		fprintf(stderr, "no such scenario\n");
	return right && known;
}

static const struct model_scenario *scenario_find(const char *name)
{
	for (unsigned at = 0; at < model_scenario_count; at++)
		if (strcmp(name, model_scenarios[at].name) == 0)
			return &model_scenarios[at];
	fprintf(stderr, "no scenario %s\n", name);
	exit(2);
}

static bool mutations_run(void)
{
	unsigned found = 0;

	for (unsigned at = 0; at < model_mutation_count; at++) {
		const struct model_mutation *mutation = &model_mutations[at];
		struct model_result result;

		model_mutation = mutation;
		model_weak = mutation->weak;
		model_explore(scenario_find(mutation->scenario), states_max, orders, false, &result);
		found += result.violated;
		printf("%-9s %-34s %-14s %-8s %9" PRIu64 "  %s\n", result.violated ? "found" : "NOT FOUND",
		       mutation->name, mutation->scenario, memory_name(mutation->weak), result.states,
		       result.violated    ? model_violation_text()
		       : result.exhausted ? "complete"
					  : "limit");
		(void)fflush(stdout);
	}
	model_mutation = NULL;
	printf("%u of %u mutations found\n", found, model_mutation_count);
	return found == model_mutation_count;
}

static uint64_t number_of(const char *text)
{
	char *end;
	uint64_t number;

	errno = 0;
	number = strtoull(text, &end, 10);
	return errno || *end || number > UINT32_MAX / 2 ? 0 : number;
}

int main(int argc, char **argv)
{
	states_max = argc > 2 ? number_of(argv[1]) : 0;
	orders = argc > 2 ? (unsigned)number_of(argv[2]) : 0;
	if (!states_max || !orders || argc > 5) {
		fprintf(stderr, "explore STATES ORDERS [mutations | SCENARIO [ordered|weak]]\n");
		return 2;
	}
	if (argc == 4 && strcmp(argv[3], "mutations") == 0)
		return mutations_run() ? 0 : 1;
	return scenarios_run(argc > 3 ? argv[3] : NULL, argc > 4 ? argv[4] : NULL) ? 0 : 1;
}
