/**
 * Joins checksums: that of `AB` from those of `A` and `B` and the length of `B`. To append a zero
 * bit multiplies a CRC, as a polynomial over GF(2), by x modulo its generator; hence the CRC of `A`
 * has to be multiplied by x to the power of the bits in `B`. Works as `crc32_combine` of zlib.
 */

/** 64 bits. The highest of `hi` is the coefficient of x^0; a CRC-32 has all of its bits in `hi`. */
interface Polynomial {
  readonly hi: number;
  readonly lo: number;
}

/** A generator without its highest coefficient, bits reversed as usual for these CRCs. */
interface Generator extends Polynomial {
  readonly width: 32 | 64;
}

const GENERATORS = {
  crc32: { width: 32, hi: 0xedb88320, lo: 0 },
  crc32c: { width: 32, hi: 0x82f63b78, lo: 0 },
  crc64nvme: { width: 64, hi: 0x9a6c9329, lo: 0xac4bc9b5 },
} as const satisfies Readonly<Record<string, Generator>>;

/** The checksums that can be joined. */
export type JoinableAlgorithm = keyof typeof GENERATORS;

/** x^0 */
const ONE: Polynomial = { hi: 0x80000000, lo: 0 };

function multiply(a: Polynomial, b: Polynomial, generator: Generator): Polynomial {
  const is64 = generator.width === 64;
  let [productHi, productLo] = [0, 0];
  let [hi, lo] = [b.hi, b.lo];
  for (let power = 0; power < generator.width; power++) {
    const coefficient = power < 32 ? a.hi >>> (31 - power) : a.lo >>> (63 - power);
    if ((coefficient & 1) === 1) {
      productHi ^= hi;
      productLo ^= lo;
    }
    const overflows = ((is64 ? lo : hi) & 1) === 1;
    if (is64) lo = (lo >>> 1) | (hi << 31);
    hi >>>= 1;
    if (overflows) {
      hi ^= generator.hi;
      lo ^= generator.lo;
    }
  }
  return { hi: productHi >>> 0, lo: productLo >>> 0 };
}

/** Joins checksums of one algorithm, fast if many of the parts are equally long. */
export function createJoiner(
  algorithm: JoinableAlgorithm,
): (a: Uint8Array, b: Uint8Array, length: number) => Uint8Array {
  const generator = GENERATORS[algorithm];
  // x to the power of 8, 16, 32 and so on, for bytes.
  const squares: Polynomial[] = [{ hi: 0x80000000 >>> 8, lo: 0 }];
  let known: { readonly length: number; readonly power: Polynomial } | undefined;
  const powerOf = (length: number): Polynomial => {
    if (known?.length === length) return known.power;
    let power = ONE;
    for (let rest = length, i = 0; rest > 0; rest = Math.floor(rest / 2), i++) {
      const square = (squares[i] ??= multiply(squares[i - 1]!, squares[i - 1]!, generator));
      if (rest % 2 === 1) power = multiply(power, square, generator);
    }
    known = { length, power };
    return power;
  };
  return (a, b, length) => {
    const { hi, lo } = multiply(read(a), powerOf(length), generator);
    const joined = Buffer.alloc(8);
    joined.writeUInt32BE((hi ^ read(b).hi) >>> 0, 0);
    joined.writeUInt32BE((lo ^ read(b).lo) >>> 0, 4);
    return joined.subarray(0, generator.width / 8);
  };
}

/** @param bytes 4 or 8, as `digest` has them */
function read(bytes: Uint8Array): Polynomial {
  const view = Buffer.from(bytes);
  return { hi: view.readUInt32BE(0), lo: view.length === 8 ? view.readUInt32BE(4) : 0 };
}
