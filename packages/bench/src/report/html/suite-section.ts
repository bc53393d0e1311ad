import type { SuiteResult } from "../report.ts";
import { formatTime } from "../units.ts";
import { bySize } from "./charts/by-size.ts";
import { headroom } from "./charts/headroom.ts";
import { latency } from "./charts/latency.ts";
import { memoryOverTime } from "./charts/memory.ts";
import { pairedDeltas } from "./charts/pairs.ts";
import { seriesStyles } from "./charts/palette.ts";
import { type Html, html } from "./html.ts";

/** @param i index among the suites, for links */
export function suiteSection(result: SuiteResult, i: number): Html {
  const { suite, title, status, reason, seconds, measurements, pairs, targets, notes } = result;
  const styles = seriesStyles(measurements.map(({ series }) => series));
  return html`<section class="suite" id="suite-${i}">
    <h2>${suite}</h2>
    <p class="subtitle">
      ${title}${status === "completed" && html` <span class="quiet">· took ${formatTime(seconds)}</span>`}
    </p>
    ${status !== "completed" && html`<p class="notice ${status === "failed" ? "bad" : ""}"><b>${status}:</b> ${reason ?? "no reason given"}</p>`}
    ${targets.length > 0 && headroom(targets)}
    ${pairs.length > 0 && pairedDeltas(pairs, measurements)} ${bySize(measurements, styles)}
    ${measurements.length > 0 && latency(measurements, styles)} ${memoryOverTime(measurements)}
    ${
      notes.length > 0 &&
      html`<h3>Notes</h3>
        <ul class="notes">
          ${notes.map((note) => html`<li>${note}</li>`)}
        </ul>`
    }
  </section>`;
}
