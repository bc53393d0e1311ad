import { MASK } from "../rules/actions.ts";
import { earlier, NOT_COVERED } from "../rules/names.ts";
import type { PathState } from "../rules/paths.ts";
import type { RuleSet } from "../rules/rule-set.ts";
import { isSuspicious } from "../values/text.ts";
import { TOKEN_MIN, TOKEN_STARTS } from "../values/web-tokens.ts";
import type { Work } from "../contract.ts";
import { createEdits, type Edits } from "./edits.ts";
import { keyTable } from "./keys.ts";
import {
  BACKSLASH,
  CLASSES,
  DIGIT,
  escapeLength,
  INCOMPLETE,
  INVALID,
  isInNumber,
  isNumber,
  MARK,
  PLAIN,
  QUOTE,
  wholeCharacters,
} from "./tokens.ts";

/*
 * Redacts JSON in one pass over its bytes, without building values: a body may have a hundred thousand
 * levels, members of the same name, or end anywhere. Whatever is not covered stays as it was written.
 */

export interface JsonScannerOptions {
  readonly bytes: Buffer;
  /** The bytes are only the beginning of the JSON. */
  readonly isCut: boolean;
  readonly rules: RuleSet;
  /** Replaces secrets in the decoded text of a string or number. */
  readonly redactString: (text: string, isCut: boolean) => Work<string>;
}

export interface JsonScanner {
  /** Scans up to about an offset. Returns whether it is done. */
  advance(to: number): boolean;
  /** Valid when it is done. */
  result(): Edits | "broken" | "dropped";
}

/** What may come next. */
const VALUE = 0;
const ITEM_OR_END = 1;
const KEY = 2;
const KEY_OR_END = 3;
const COLON = 4;
const COMMA_OR_END = 5;
const NOTHING = 6;
const IN_KEY = 7;
const IN_STRING = 8;
const IN_NUMBER = 9;
/** The cut ended a `true`, `false` or `null`. */
const IN_WORD = 10;

/** Bits of an open container. */
const OBJECT = 1;
/** It has an item or member that stays. */
const KEPT = 2;

const WORDS: ReadonlyMap<number, Buffer> = new Map(
  ["true", "false", "null"].map((word) => [word.charCodeAt(0), Buffer.from(word)]),
);

/** The digits of a card number. */
const CARD_DIGITS_MIN = 13;

export function createJsonScanner(options: JsonScannerOptions): JsonScanner {
  const { bytes, isCut, rules, redactString } = options;
  const { paths } = rules;
  const keys = keyTable(rules);
  const edits = createEdits(bytes);
  const end = bytes.length;

  let at = 0;
  /** How far to scan now. */
  let limit = 0;
  let expected = VALUE;
  let isBroken = false;
  let isDropped = false;

  // The containers that are open.
  let depth = 0;
  let containers = new Uint8Array(64);
  const containerStates: PathState[] = [];
  const itemCounts: number[] = [];

  // The member or item that is being read, with the comma before it if that has to stay.
  let memberStart = 0;
  let commaBefore = -1;
  let keyRank = NOT_COVERED;
  let state = paths.start;

  // The string or number that is being read: a string from its first character on.
  let tokenStart = 0;
  let digits = 0;
  let isMarked = false;
  let hasEscape = false;
  let wholeEnd = -1;
  const hasToken = tokenFinder(bytes);

  // The outermost value that a rule covers, by the number of containers around it.
  let covered = -1;
  let coveredRank = NOT_COVERED;
  let coveredStart = 0;
  let coveredMember = 0;
  let coveredComma = -1;

  const fail = (): void => {
    isBroken = true;
    at = end;
  };

  const startString = (next: number): void => {
    expected = next;
    at += 1;
    tokenStart = at;
    digits = 0;
    isMarked = false;
    hasEscape = false;
    wholeEnd = -1;
    readString();
  };

  const startValue = (byte: number): void => {
    if (depth > 0 && (containers[depth - 1]! & OBJECT) === 0) startItem();
    if (covered === -1) cover();
    if (byte === 0x22) startString(IN_STRING);
    else if (byte === 0x7b) open(OBJECT, KEY_OR_END);
    else if (byte === 0x5b) open(0, ITEM_OR_END);
    else if (byte === 0x2d || CLASSES[byte] === DIGIT) {
      tokenStart = at;
      expected = IN_NUMBER;
      readNumber();
    } else readWord(WORDS.get(byte));
  };

  const startItem = (): void => {
    memberStart = at;
    if (covered !== -1) return;
    keyRank = NOT_COVERED;
    const number = itemCounts[depth - 1]!++;
    const literal = paths.hasNumbers ? paths.literal(String(number)) : "";
    state = paths.step(containerStates[depth - 1]!, literal);
  };

  const cover = (): void => {
    const rank = earlier(keyRank, state.rank);
    if (rank === NOT_COVERED) return;
    covered = depth;
    coveredRank = rank;
    coveredStart = at;
    coveredMember = memberStart;
    coveredComma = commaBefore;
  };

  const open = (kind: number, next: number): void => {
    if (depth === containers.length) {
      const longer = new Uint8Array(2 * depth);
      longer.set(containers);
      containers = longer;
    }
    containers[depth] = kind;
    containerStates[depth] = covered === -1 ? state : paths.none;
    itemCounts[depth] = 0;
    depth += 1;
    at += 1;
    commaBefore = -1;
    expected = next;
  };

  const close = (kind: number): void => {
    if ((containers[depth - 1]! & OBJECT) !== kind) return fail();
    depth -= 1;
    at += 1;
    endValue(at);
  };

  /** @param after the offset after its last byte */
  const endValue = (after: number): void => {
    let isKept = true;
    if (covered === depth) {
      isKept = !rules.drops(coveredRank);
      redactCovered(after);
      covered = -1;
    }
    if (depth === 0) expected = NOTHING;
    else {
      expected = COMMA_OR_END;
      if (isKept) containers[depth - 1]! |= KEPT;
      // Nearly always there, and this saves a turn of the loop.
      if (at < limit && bytes[at] === 0x2c) readComma();
    }
  };

  const redactCovered = (after: number): void => {
    if (rules.drops(coveredRank)) {
      const from = coveredComma === -1 ? coveredMember : coveredComma;
      edits.removeFrom(from);
      edits.add(from, after, "");
      isDropped = covered === 0;
      return;
    }
    const [rank, start] = [coveredRank, coveredStart];
    edits.add(start, after, () => redactedCovered(rank, start, after));
  };

  const redactedCovered = function* (
    rank: number,
    start: number,
    after: number,
  ): Work<string | undefined> {
    const first = bytes[start]!;
    const isContainer = first === 0x7b || first === 0x5b;
    if (isContainer && rules.keepsPart(rank)) return JSON.stringify(MASK);
    const raw = bytes.toString("utf8", start, after);
    const value = first === 0x22 ? (JSON.parse(raw) as string) : raw;
    const by = rules.apply(rank, rules.keepsPart(rank) ? yield* redactString(value, false) : value);
    return by === value ? undefined : JSON.stringify(by);
  };

  const endKey = (quote: number): void => {
    expected = COLON;
    if (at < limit && bytes[at] === 0x3a) readColon();
    if (covered !== -1) return;
    const found = hasEscape
      ? keys.find(decodedString(tokenStart, quote))
      : keys.findBytes(bytes, tokenStart, quote);
    if (found.isSecret) edits.add(tokenStart, quote, MASK);
    keyRank = found.rank;
    state = paths.step(containerStates[depth - 1]!, found.literal);
  };

  const endString = (quote: number): void => {
    if (expected === IN_KEY) return endKey(quote);
    if (covered === -1 && mayBeSuspicious(quote)) redactToken(quote, false);
    endValue(quote + 1);
  };

  /** Whether a string has to be decoded to see if it may have a secret. */
  const mayBeSuspicious = (quote: number): boolean => {
    if (hasEscape || isMarked || digits >= CARD_DIGITS_MIN) return true;
    if (quote - tokenStart >= TOKEN_MIN && hasToken(tokenStart, quote)) return true;
    // JSON in a string.
    const first = bytes[tokenStart]!;
    return first === 0x7b || first === 0x5b || first === 0x20;
  };

  const decodedString = (start: number, to: number): string => {
    const raw = bytes.toString("utf8", start, to);
    return hasEscape ? (JSON.parse(`"${raw}"`) as string) : raw;
  };

  const redactToken = (to: number, isTokenCut: boolean): void => {
    const text = decodedString(tokenStart, to);
    if (!isTokenCut && !isSuspicious(text)) return;
    const stop = isTokenCut ? end : to;
    edits.add(tokenStart, stop, function* () {
      const redacted = yield* redactString(text, isTokenCut);
      if (redacted === text && to === stop) return undefined;
      return JSON.stringify(redacted).slice(1, -1);
    });
  };

  const readString = (): void => {
    let offset = at;
    for (; offset < limit; offset++) {
      const kind = CLASSES[bytes[offset]!]!;
      if (kind === PLAIN) continue;
      if (kind === DIGIT) digits += 1;
      else if (kind === MARK) isMarked = true;
      else if (kind === QUOTE) {
        at = offset + 1;
        return endString(offset);
      } else if (kind === BACKSLASH) {
        const length = escapeLength(bytes, offset);
        if (length === INVALID) return fail();
        if (length === INCOMPLETE) {
          wholeEnd = offset;
          at = end;
          return;
        }
        hasEscape = true;
        offset += length - 1;
      } else return fail();
    }
    at = offset;
  };

  const readNumber = (): void => {
    let offset = at;
    while (offset < limit && isInNumber(bytes[offset]!)) offset += 1;
    at = offset;
    if (offset < limit) endNumber();
  };

  const endNumber = (): void => {
    if (!isNumber(bytes, tokenStart, at)) return fail();
    if (covered === -1 && at - tokenStart >= CARD_DIGITS_MIN) redactNumber(false);
    endValue(at);
  };

  const redactNumber = (isNumberCut: boolean): void => {
    const raw = bytes.toString("latin1", tokenStart, at);
    edits.add(tokenStart, at, function* () {
      return (yield* redactString(raw, isNumberCut)) === raw ? undefined : JSON.stringify(MASK);
    });
  };

  const readWord = (word: Buffer | undefined): void => {
    if (word === undefined) return fail();
    const to = Math.min(at + word.length, end);
    if (bytes.compare(word, 0, to - at, at, to) !== 0) return fail();
    const isWhole = to - at === word.length;
    at = to;
    if (isWhole) endValue(at);
    else expected = IN_WORD;
  };

  const readColon = (): void => {
    at += 1;
    expected = VALUE;
  };

  const readComma = (): void => {
    const container = containers[depth - 1]!;
    // Whatever came before it was dropped.
    if ((container & KEPT) === 0) edits.add(at, at + 1, "");
    commaBefore = (container & KEPT) === 0 ? -1 : at;
    at += 1;
    expected = (container & OBJECT) === 0 ? VALUE : KEY;
  };

  const readByte = (byte: number): void => {
    switch (expected) {
      case ITEM_OR_END:
        return byte === 0x5d ? close(0) : startValue(byte);
      case VALUE:
        return startValue(byte);
      case KEY_OR_END:
      case KEY:
        if (byte === 0x7d && expected === KEY_OR_END) return close(OBJECT);
        if (byte !== 0x22) return fail();
        memberStart = at;
        return startString(IN_KEY);
      case COLON:
        return byte === 0x3a ? readColon() : fail();
      case COMMA_OR_END:
        if (byte === 0x2c) return readComma();
        if (byte === 0x7d) return close(OBJECT);
        return byte === 0x5d ? close(0) : fail();
      default:
        return fail();
    }
  };

  /** At the end of the bytes. */
  const finish = (): void => {
    if (!isCut && expected === IN_NUMBER) endNumber();
    if (isBroken || expected === NOTHING) return;
    if (!isCut) return fail();
    if (covered !== -1) {
      if (rules.drops(coveredRank)) redactCovered(end);
      else edits.add(coveredStart, end, JSON.stringify(MASK));
    } else if (expected === IN_STRING || expected === IN_KEY) {
      redactToken(wholeEnd === -1 ? wholeCharacters(bytes, tokenStart, end) : wholeEnd, true);
    } else if (expected === IN_NUMBER) redactNumber(true);
  };

  return {
    advance(to) {
      limit = Math.min(to, end);
      while (at < limit) {
        if (expected === IN_STRING || expected === IN_KEY) {
          readString();
          continue;
        }
        if (expected === IN_NUMBER) {
          readNumber();
          continue;
        }
        const byte = bytes[at]!;
        if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) at += 1;
        else readByte(byte);
      }
      if (at < end) return false;
      finish();
      return true;
    },
    result() {
      if (isBroken) return "broken";
      return isDropped ? "dropped" : edits;
    },
  };
}

/** Makes a function that finds beginnings of JSON Web Tokens, for ranges in ascending order. */
function tokenFinder(bytes: Buffer): (from: number, to: number) => boolean {
  const offsets: number[] = TOKEN_STARTS.map(() => -1);
  let nearest = -1;
  const offsetFrom = (index: number, from: number): number => {
    if (offsets[index]! >= from) return offsets[index]!;
    const found = bytes.indexOf(TOKEN_STARTS[index]!, from);
    return found === -1 ? Infinity : found;
  };
  return (from, to) => {
    if (nearest < from) {
      for (let index = 0; index < offsets.length; index++) offsets[index] = offsetFrom(index, from);
      nearest = Math.min(...offsets);
    }
    return nearest < to;
  };
}
