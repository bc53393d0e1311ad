/**
 * Padmé: the padded length that leaks O(log log L) bits of a length and costs at most 12 %.
 * Nikitin et al., "Reducing Metadata Leakage from Encrypted Files and Communication with
 * PURBs", PoPETs 2019, algorithm 1.
 *
 * @param length 0 to 2^53−1
 * @returns the padded length, from `length` to 2^53
 */
export function padme(length: number): number {
  if (length < 2) return length;
  const exponent = floorLog2(length);
  const mantissaBits = floorLog2(exponent) + 1;
  // Division rather than shifts: 32-bit operators would wrap above 2 GiB.
  const step = 2 ** Math.max(0, exponent - mantissaBits);
  return Math.ceil(length / step) * step;
}

function floorLog2(value: number): number {
  // Math.log2 rounds, and near a power of two it rounds to the wrong side.
  let exponent = Math.floor(Math.log2(value));
  if (2 ** exponent > value) exponent -= 1;
  else if (2 ** (exponent + 1) <= value) exponent += 1;
  return exponent;
}
