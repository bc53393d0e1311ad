/** A line at the bottom of a terminal, below whatever else is printed. */
export interface LiveLine {
  /** Takes the line off the terminal. */
  hide(): void;
  /** Puts it back, as it was last. */
  show(): void;
}

/** Lets one live line and everything else that is printed share a terminal. */
export interface Screen {
  /** Whether something is being printed, so that the line must not be drawn. */
  readonly busy: boolean;
  /** Makes this the live line; undefined takes it away. */
  place(line: LiveLine | undefined): void;
  /** Prints something above the line. */
  above<T>(print: () => Promise<T>): Promise<T>;
}

export function createScreen(): Screen {
  let line: LiveLine | undefined;
  let printing = 0;
  return {
    get busy() {
      return printing > 0;
    },
    place(next) {
      line?.hide();
      line = next;
    },
    async above(print) {
      if (printing === 0) line?.hide();
      printing += 1;
      try {
        return await print();
      } finally {
        printing -= 1;
        if (printing === 0) line?.show();
      }
    },
  };
}
