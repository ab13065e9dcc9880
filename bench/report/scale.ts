// From numbers to places on a picture. Pure arithmetic.

export type Scale = (value: number) => number;

export function scaleLinear(from: number, to: number, start: number, end: number): Scale {
  const factor = to === from ? 0 : (end - start) / (to - from);
  return (value) => start + (value - from) * factor;
}

/** Of positive numbers. */
export function scaleLog(from: number, to: number, start: number, end: number): Scale {
  const linear = scaleLinear(Math.log10(from), Math.log10(to), start, end);
  return (value) => linear(Math.log10(value));
}

/** Powers of ten from the one at or below `min` to the one at or above `max`: two at least. */
export function logTicks(min: number, max: number): number[] {
  const first = Math.floor(Math.log10(min) + 1e-9);
  const last = Math.max(first + 1, Math.ceil(Math.log10(max) - 1e-9));
  return Array.from({ length: last - first + 1 }, (_, step) => 10 ** (first + step));
}

/** The next number that an axis may well end with. */
export function niceMax(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const steps = [1, 1.2, 1.6, 2, 2.4, 3.2, 4, 5, 6, 8, 10];
  return (steps.find((step) => step * power >= value * (1 - 1e-9)) ?? 10) * power;
}
