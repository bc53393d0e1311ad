import { COUNTER_WORDS, type Comparison, type Counter, isWorse } from "../../compare/comparison.ts";
import { counted, formatTime } from "../units.ts";
import { forest } from "./charts/forest.ts";
import { type Html, html } from "./html.ts";
import { table } from "./table.ts";
import { tickCount } from "./tick-units.ts";

/** A comparison of two revisions: why the gate fails, changes in time, and counters. */
export function comparisonSection(comparison: Comparison): Html {
  const { base, head, tasks, skipped, failures, warnings, seconds, seed } = comparison;
  const counters = tasks.flatMap(({ title, counters }) =>
    counters.map((counter) => ({ title, counter })),
  );
  return html`<section id="comparison">
    <h2>${head.name} against ${base.name}</h2>
    <p class="subtitle">
      Head <code>${head.commit.slice(0, 12)}</code>, base <code>${base.commit.slice(0, 12)}</code>;
      pairs of processes whose work alternates, seed ${String(seed)}, ${formatTime(seconds)} in
      total.
    </p>
    ${
      failures.length > 0
        ? html`<ul class="callouts">
            ${failures.map((failure) => html`<li class="bad">${failure}</li>`)}
          </ul>`
        : html`<p class="notice good">
            <b>The gate passes:</b> no task is worse beyond its tolerance, and no counter grew.
          </p>`
    }
    ${
      warnings.length > 0 &&
      html`<ul class="callouts">
        ${warnings.map((warning) => html`<li>${warning}</li>`)}
      </ul>`
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
  const rows = counters.map(({ title, counter }) => [
    title,
    COUNTER_WORDS[counter.name],
    tickCount(counter.base),
    tickCount(counter.head),
    changed(counter),
  ]);
  return html`<h3>Counters</h3>
    <p>Exact numbers per operation. Any increase is a failure, and so are fewer threads.</p>
    ${table("Counters", ["Task", "Counter", "Base", "Head", "Change"], rows, [1, 4])}`;
}

function changed(counter: Counter): Html {
  if (counter.change === "none") return html`<span class="quiet">none</span>`;
  const [kind, mark] = isWorse(counter) ? ["missed", "✗"] : ["met", "✓"];
  return html`<span class="${kind}"
    ><span aria-hidden="true">${mark}</span> ${counter.change}</span
  >`;
}
