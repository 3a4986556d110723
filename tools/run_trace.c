/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/run_trace.h"

int run_trace_open(
	struct run_trace *trace, const char *path, const char *run_json, struct error *error)
{
	*trace = (struct run_trace){ 0 };
	return path ? trace_writer_open(path, run_json, &trace->writer, error) : 0;
}

struct trace_writer *run_trace_begin(struct run_trace *trace, const char *cell_json)
{
	int r;

	if (!trace->writer)
		return NULL;
	r = trace_writer_cell(trace->writer, cell_json);
	if (r < 0) {
		if (!trace->code)
			trace->code = r;
		return NULL;
	}
	trace->in_cell = true;
	trace->waited_ns = trace_writer_waited_ns(trace->writer);
	return trace->writer;
}

nsec_t run_trace_end(struct run_trace *trace)
{
	if (!trace->in_cell)
		return 0;
	trace->in_cell = false;
	(void)trace_writer_cell_end(trace->writer);
	return trace_writer_waited_ns(trace->writer) - trace->waited_ns;
}

int run_trace_close(struct run_trace *trace, struct error *error)
{
	int code = trace->code;
	int r = trace->writer ? trace_writer_close(trace->writer, error) : 0;

	*trace = (struct run_trace){ 0 };
	if (r == 0 && code < 0)
		r = error_set(error, code, "the trace lacks cells: %s", strerror(-code));
	return r;
}
