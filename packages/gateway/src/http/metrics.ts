/** Numbers for Prometheus, in its text format. */
export interface Metrics {
  /** A request has ended. */
  request(observed: {
    readonly operation: string;
    readonly status: number | undefined;
    readonly received: number;
    readonly sent: number;
    readonly durationMs: number;
  }): void;
  /** A request to the store begins. The function that it returns is to be called at its end. */
  backend(call: string): (outcome: "ok" | "failed") => void;
  /** @param gauges numbers of this moment, by name without prefix, with their help */
  text(gauges: readonly Gauge[]): string;
}

/** A number of this moment, or a total that is counted elsewhere. */
export interface Gauge {
  /** Ends in `_total` if it only grows. */
  readonly name: string;
  readonly help: string;
  readonly value: number;
}

/** Upper bounds of the classes of latency, in seconds. */
const BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

interface Histogram {
  /** One for each bound, not cumulative; those above all bounds are in `count` alone. */
  readonly classes: number[];
  count: number;
  sum: number;
}

export function createMetrics(): Metrics {
  const requests = new Map<string, number>();
  const received = new Map<string, number>();
  const sent = new Map<string, number>();
  const latencies = new Map<string, Histogram>();
  const backendCalls = new Map<string, number>();
  const backendLatencies = new Map<string, Histogram>();
  let backendRunning = 0;
  return {
    request(observed) {
      // The values are names of ours, and need no escaping.
      const operation = `operation="${observed.operation}"`;
      add(requests, `${operation},status="${observed.status ?? "gone"}"`, 1);
      add(received, operation, observed.received);
      add(sent, operation, observed.sent);
      // How long a client that left has waited is no latency.
      if (observed.status !== undefined) observe(latencies, operation, observed.durationMs / 1000);
    },
    backend(call) {
      const start = performance.now();
      backendRunning += 1;
      return (outcome) => {
        backendRunning -= 1;
        const label = `call="${call}"`;
        add(backendCalls, `${label},outcome="${outcome}"`, 1);
        observe(backendLatencies, label, (performance.now() - start) / 1000);
      };
    },
    text: (gauges) =>
      [
        counters("requests_total", "Requests by operation and status.", requests),
        counters("received_bytes_total", "Bytes of request bodies.", received),
        counters("sent_bytes_total", "Bytes of answers' bodies.", sent),
        histograms("request_seconds", "Duration of requests that were answered.", latencies),
        counters("backend_requests_total", "Requests to the store.", backendCalls),
        histograms(
          "backend_request_seconds",
          "Duration of requests to the store.",
          backendLatencies,
        ),
        ...gauges
          .concat(running(backendRunning))
          .map(({ name, help, value }) =>
            family(name, name.endsWith("_total") ? "counter" : "gauge", help, [
              `${PREFIX}${name} ${value}`,
            ]),
          ),
      ].join(""),
  };
}

function running(value: number): Gauge {
  return { name: "backend_requests_running", help: "Requests to the store in progress.", value };
}

const PREFIX = "idk_gateway_";

function family(name: string, type: string, help: string, lines: readonly string[]): string {
  const head = [`# HELP ${PREFIX}${name} ${help}`, `# TYPE ${PREFIX}${name} ${type}`];
  return [...head, ...lines, ""].join("\n");
}

function counters(name: string, help: string, values: ReadonlyMap<string, number>): string {
  const lines = [...values].map(([label, value]) => `${PREFIX}${name}{${label}} ${value}`);
  return family(name, "counter", help, lines);
}

function histograms(name: string, help: string, values: ReadonlyMap<string, Histogram>): string {
  const lines = [...values].flatMap(([label, { classes, count, sum }]) => {
    let below = 0;
    const buckets = BOUNDS.map((bound, index) => {
      below += classes[index] ?? 0;
      return `${PREFIX}${name}_bucket{${label},le="${bound}"} ${below}`;
    });
    return buckets.concat(
      `${PREFIX}${name}_bucket{${label},le="+Inf"} ${count}`,
      `${PREFIX}${name}_sum{${label}} ${sum}`,
      `${PREFIX}${name}_count{${label}} ${count}`,
    );
  });
  return family(name, "histogram", help, lines);
}

function add(totals: Map<string, number>, label: string, value: number): void {
  totals.set(label, (totals.get(label) ?? 0) + value);
}

function observe(all: Map<string, Histogram>, label: string, seconds: number): void {
  let histogram = all.get(label);
  if (histogram === undefined) {
    histogram = { classes: BOUNDS.map(() => 0), count: 0, sum: 0 };
    all.set(label, histogram);
  }
  const index = BOUNDS.findIndex((bound) => seconds <= bound);
  if (index !== -1) histogram.classes[index] = (histogram.classes[index] ?? 0) + 1;
  histogram.count += 1;
  histogram.sum += seconds;
}
