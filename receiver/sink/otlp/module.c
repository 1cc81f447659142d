/* SPDX-License-Identifier: MIT */
#include "receiver/sink/module.h"

#include "receiver/sink/otlp/otlp_sink.h"

const struct k2i_sink_module k2i_sink_module = {K2I_SINK_MODULE_VERSION, k2i_otlp_sink_open};
