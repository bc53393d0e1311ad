import type { Calibration, Machine } from "../report.ts";
import { formatBytes, formatRate } from "../units.ts";
import { type Html, html } from "./html.ts";

/** What the figures have to be read with. */
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
    ${calibration !== undefined && html`<p>What it does by itself, on one thread, was measured in this run.</p>`}
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
