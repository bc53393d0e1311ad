import type { Comparison, Counter, CounterName } from "../../compare/comparison.ts";
import { counted, formatTime } from "../units.ts";
import { forest } from "./charts/forest.ts";
import { type Html, html } from "./html.ts";
import { table } from "./table.ts";
import { tickCount } from "./tick-units.ts";

const COUNTERS: Record<CounterName, string> = {
  requests: "Requests",
  bytesSent: "Bytes sent",
  bytesReceived: "Bytes received",
  bytesHashed: "Bytes hashed",
  storedOverhead: "Bytes stored beyond the content",
};

/** A comparison of two revisions: why the gate fails, changes in time, and counters. */
export function comparisonSection(comparison: Comparison): Html {
  const { base, head, tasks, skipped, failures, seconds, seed } = comparison;
  const counters = tasks.flatMap(({ title, counters }) =>
    counters.map((counter) => ({ title, counter })),
  );
  return html`<section id="comparison">
    <h2>${head.name} against ${base.name}</h2>
    <p class="subtitle">
      Head <code>${head.commit.slice(0, 12)}</code>, base <code>${base.commit.slice(0, 12)}</code>;
      fresh processes in random order, seed ${String(seed)}, ${formatTime(seconds)} in total.
    </p>
    ${
      failures.length > 0
        ? html`<ul class="callouts">
            ${failures.map((failure) => html`<li class="bad">${failure}</li>`)}
          </ul>`
        : html`<p class="notice good">
            <b>The gate passes:</b> no task is slower beyond its tolerance, and no counter grew.
          </p>`
    }
    ${tasks.length > 0 && forest(tasks)} ${counters.length > 0 && counterTable(counters)}
    ${
      skipped.length > 0 &&
      html`<h3>${counted(skipped.length, "task")} skipped</h3>
        <ul class="notes">
          ${skipped.map(({ task, reason }) => html`<li><b>${task}:</b> ${reason}</li>`)}
        </ul>`
    }
  </section>`;
}

function counterTable(counters: readonly { title: string; counter: Counter }[]): Html {
  const rows = counters.map(({ title, counter: { name, base, head, change } }) => [
    title,
    COUNTERS[name],
    tickCount(base),
    tickCount(head),
    changed(change),
  ]);
  return html`<h3>Counters</h3>
    <p>Exact numbers per operation. Any increase is a failure.</p>
    ${table("Counters", ["Task", "Counter", "Base", "Head", "Change"], rows, [1, 4])}`;
}

function changed(change: Counter["change"]): Html {
  if (change === "none") return html`<span class="quiet">none</span>`;
  const [kind, mark] = change === "more" ? ["missed", "✗"] : ["met", "✓"];
  return html`<span class="${kind}"><span aria-hidden="true">${mark}</span> ${change}</span>`;
}
