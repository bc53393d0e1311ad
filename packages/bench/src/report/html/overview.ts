import type { Report, SuiteResult } from "../report.ts";
import { formatBound, formatTime, formatValue } from "../units.ts";
import { type Html, html } from "./html.ts";
import { table } from "./table.ts";

/** What there is to know at a glance: what was missed, what did not run, and all suites. */
export function overview({ suites, quick }: Report): Html {
  const missed = suites.flatMap((suite, i) =>
    suite.targets.filter(({ met }) => !met).map((target) => ({ suite, i, target })),
  );
  const unfinished = suites.flatMap((suite, i) =>
    suite.status === "completed" ? [] : [{ suite, i }],
  );
  return html`<section aria-label="Overview">
    ${quick && html`<p class="notice"><b>Quick run.</b> Every suite once, with few rounds: figures to look at, not to judge by.</p>`}
    ${
      missed.length > 0 &&
      html`<ul class="callouts">
        ${missed.map(({ suite, i, target }) => html`<li class="bad"><a href="#suite-${i}">${suite.suite}</a>: <b>${target.name}</b> is ${formatValue(target)}, and should be ${formatBound(target)}</li>`)}
      </ul>`
    }
    ${
      unfinished.length > 0 &&
      html`<ul class="callouts">
        ${unfinished.map(({ suite, i }) => html`<li class="${suite.status === "failed" ? "bad" : "plain"}"><a href="#suite-${i}">${suite.suite}</a> ${suite.status}: ${suite.reason ?? "no reason was given"}</li>`)}
      </ul>`
    }
    ${table(
      "Suites",
      ["Suite", "Targets", "Took"],
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

/** One mark for each target, and how many there are. */
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
