import { type Html, html } from "./html.ts";

/**
 * A table. The first cell of each row is its name; all others are numbers and aligned right.
 *
 * @param words indexes of columns that are text, not numbers
 */
export function table(
  caption: string,
  head: readonly string[],
  rows: readonly (readonly (string | Html)[])[],
  words: readonly number[] = [],
): Html {
  const kind = (i: number) => (words.includes(i) ? "words" : "figure");
  const cells = (row: readonly (string | Html)[]) =>
    row.map((cell, i) =>
      i === 0 ? html`<th scope="row">${cell}</th>` : html`<td class="${kind(i)}">${cell}</td>`,
    );
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${caption}">
    <table>
      <caption>
        ${caption}
      </caption>
      <thead>
        <tr>
          ${head.map((name, i) => html`<th scope="col" class="${i === 0 ? "words" : kind(i)}">${name}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (row) =>
            html`<tr>
              ${cells(row)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** A chart with its title, an explanation, and its numbers in a table. */
export function figure(title: string, reading: string, drawing: Html, numbers: Html): Html {
  return html`<figure>
    <figcaption>
      <h3>${title}</h3>
      <p>${reading}</p>
    </figcaption>
    ${drawing}
    <details>
      <summary>The numbers</summary>
      ${numbers}
    </details>
  </figure>`;
}
