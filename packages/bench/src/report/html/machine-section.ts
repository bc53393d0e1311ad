import type { Calibration, Machine } from "../report.ts";
import { formatBytes, formatRate } from "../units.ts";
import { type Html, html } from "./html.ts";

/** The machine and its calibration. */
export function machineSection(machine: Machine, calibration?: Calibration): Html {
  const { processor, cores, memory, system, runtime, nacl } = machine;
  const facts: [string, string][] = [
    ["Processor", processor],
    ["Cores", String(cores)],
    ["Memory", formatBytes(memory)],
    ["System", system],
    ["Runtime", `${runtime}, ${nacl} NaCl`],
  ];
  if (calibration !== undefined) {
    const { sha256, secretbox, memoryCopy } = calibration;
    facts.push(
      ["SHA-256", formatRate(sha256)],
      ["Secretbox", formatRate(secretbox)],
      ["Memory copy", formatRate(memoryCopy)],
    );
  }
  return html`<section>
    <h2>The machine</h2>
    ${calibration !== undefined && html`<p>The rates were measured in this run, on one thread.</p>`}
    <dl class="facts">
      ${facts.map(
        ([name, fact]) =>
          html`<div>
            <dt>${name}</dt>
            <dd>${fact}</dd>
          </div>`,
      )}
    </dl>
  </section>`;
}
