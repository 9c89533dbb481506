#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Table of single runs: minimum / median / maximum of each figure, per scenario and system."""

import json
import statistics
import sys

LIVE = [
    "first_created_to_last_bound_s",
    "last_created_to_last_bound_s",
    "first_bound_to_last_bound_s",
    "binds_per_s_total",
]
FIGURES = {
    "raw-bind": ["raw_binds_per_s", "bind_latency_p50_ms", "bind_latency_p99_ms", "creates_per_s"],
    "singles-cold": ["scheduler_start_to_last_bound_s", "binds_per_s_total", "binds_best_1s"],
    "singles-live": [*LIVE, "binds_best_1s", "pod_wait_p50_s", "pod_wait_p99_s"],
    "gang-512": LIVE,
    "gangs-8x500": LIVE,
    "full-gang": ["first_pod_condition_s", "bystander_wait_s", "evicted_pods"],
    "full-gang-quota": ["first_pod_condition_s", "bystander_wait_s", "evicted_pods"],
    "reclaim-one": ["claim_to_bound_min_s", "claim_to_bound_median_s", "claim_to_bound_max_s"],
    "reclaim-gang": ["first_created_to_last_bound_s", "first_eviction_s", "evicted_pods"],
    "restart": ["start_to_decision_s", "restart_to_decision_s"],
}
FOREIGN_BUSY_CORES_MAX = 0.1


def spread(values):
    if not values:
        return "-"
    if len(values) == 1:
        return f"{values[0]:g}"
    return f"{min(values):g} / {statistics.median(values):g} / {max(values):g}"


def read(paths):
    """Runs by scenario, system and variant."""
    groups = {}
    for path in paths:
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                run = json.loads(line)
                options = run["options"]
                content = options.get("content_type", "").split(".")[-1]
                variant = f"{options['binders']} binders, {content}" if "binders" in options else ""
                groups.setdefault((run["scenario"], run["system"], variant), []).append(run)
    return groups


def row(scenario, system, variant, runs):
    quiet = [
        run
        for run in runs
        if run["figures"].get("foreign_busy_cores", 1) <= FOREIGN_BUSY_CORES_MAX
    ]
    used = quiet or runs

    def over_runs(table, name):
        return spread([run[table][name] for run in used if name in run.get(table, {})])

    figures = "; ".join(f"{name} {over_runs('figures', name)}" for name in FIGURES[scenario])
    processes = sorted({name for run in used for name in run.get("cpu_seconds", {})})
    cpu = "; ".join(f"{name} {over_runs('cpu_seconds', name)}" for name in processes)
    peak = "; ".join(f"{name} {over_runs('peak_rss_mib', name)}" for name in processes)
    complete = f"{sum(run['complete'] for run in used)}/{len(used)}"
    cells = [f"{scenario} {variant}".strip(), system, f"{len(runs)} ({len(quiet)})", complete]
    return "| " + " | ".join([*cells, figures, cpu, peak]) + " |"


def main():
    print("| scenario | system | runs (quiet) | complete | figures | CPU s | peak MiB |")
    print("|---|---|---|---|---|---|---|")
    for (scenario, system, variant), runs in sorted(read(sys.argv[1:]).items()):
        print(row(scenario, system, variant, runs))


if __name__ == "__main__":
    main()
