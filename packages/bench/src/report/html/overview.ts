import type { Report, SuiteResult } from "../report.ts";
import { formatBound, formatTime, formatValue } from "../units.ts";
import { type Html, html } from "./html.ts";
import { table } from "./table.ts";

/** Missed targets, suites that did not complete, and a table of all suites. */
export function overview({ suites, quick }: Report): Html {
  const missed = suites.flatMap((suite, i) =>
    suite.targets.filter(({ met }) => !met).map((target) => ({ suite, i, target })),
  );
  const unfinished = suites.flatMap((suite, i) =>
    suite.status === "completed" ? [] : [{ suite, i }],
  );
  return html`<section aria-label="Overview">
    ${quick && html`<p class="notice"><b>Quick run.</b> Few rounds and small sizes: too imprecise to judge.</p>`}
    ${
      missed.length > 0 &&
      html`<ul class="callouts">
        ${missed.map(({ suite, i, target }) => html`<li class="bad"><a href="#suite-${i}">${suite.suite}</a>: <b>${target.name}</b> is ${formatValue(target)}; the target is ${formatBound(target)}</li>`)}
      </ul>`
    }
    ${
      unfinished.length > 0 &&
      html`<ul class="callouts">
        ${unfinished.map(({ suite, i }) => html`<li class="${suite.status === "failed" ? "bad" : "plain"}"><a href="#suite-${i}">${suite.suite}</a> ${suite.status}: ${suite.reason ?? "no reason given"}</li>`)}
      </ul>`
    }
    ${table(
      "Suites",
      ["Suite", "Targets", "Time"],
      suites.map((suite, i) => [
        html`<a href="#suite-${i}">${suite.suite}</a> <span class="aside">${suite.title}</span>`,
        suite.status === "completed" ? chips(suite) : status(suite),
        formatTime(suite.seconds),
      ]),
      [1],
    )}
  </section>`;
}

function status({ status }: SuiteResult): Html {
  return html`<span class="${status === "failed" ? "missed" : "quiet"}">${status}</span>`;
}

/** One mark per target, and the number met or missed. */
function chips({ targets }: SuiteResult): Html {
  if (targets.length === 0) return html`<span class="quiet">none</span>`;
  const marks = targets.map(
    ({ name, met }) =>
      html`<i class="chip ${met ? "good" : "bad"}" title="${name}">${met ? "✓" : "✗"}</i>`,
  );
  const missed = targets.filter(({ met }) => !met).length;
  const words = missed === 0 ? `${targets.length} met` : `${missed} of ${targets.length} missed`;
  return html`<span class="chips"><span aria-hidden="true">${marks}</span> ${words}</span>`;
}
