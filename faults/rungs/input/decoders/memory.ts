// Hears what is allocated by a number: the largest buffer or array that anybody asked for since it was last looked at.

let largest = 0;

export function takeLargest(): number {
  const was = largest;
  largest = 0;
  return was;
}

const note = (asked: unknown): void => {
  if (typeof asked === "number" && asked > largest) largest = asked;
};

type Constructor = new (...args: never[]) => object;

/** From here on. What is inside the engine is not heard. */
export function listen(): void {
  const names = ["ArrayBuffer", "Uint8Array", "Int32Array", "Uint32Array", "Float64Array", "Array"] as const;
  const scope = globalThis as unknown as Record<string, Constructor>;
  for (const name of names) {
    scope[name] = new Proxy(scope[name], {
      construct: (target, args: unknown[], newTarget) => {
        if (args.length <= 1 || name === "ArrayBuffer") note(args[0]);
        return Reflect.construct(target, args, newTarget) as object;
      },
    });
  }
  const buffers = Buffer as unknown as Record<string, (size: unknown, ...rest: unknown[]) => unknown>;
  for (const name of ["alloc", "allocUnsafe", "allocUnsafeSlow"]) {
    const made = buffers[name];
    buffers[name] = (size, ...rest) => {
      note(size);
      return made.call(Buffer, size, ...rest);
    };
  }
}
