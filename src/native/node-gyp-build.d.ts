// The part of node-gyp-build that load.ts uses; the package has no types of its own.

declare module "node-gyp-build" {
  interface FindAddon {
    /** The path of the addon's binary that fits this process, below `dir`. Throws where there is none. */
    resolve(dir: string): string;
  }
  const find: FindAddon;
  export = find;
}
