/** A line at the bottom of a terminal, below whatever else is printed. */
export interface LiveLine {
  /** Erases the line. */
  hide(): void;
  /** Draws it again. */
  show(): void;
}

/** Lets one live line share the terminal with other output. */
export interface Screen {
  /** Whether something is being printed; the line must not be drawn then. */
  readonly busy: boolean;
  /** Sets the live line; undefined removes it. */
  setLine(line: LiveLine | undefined): void;
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
    setLine(next) {
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
