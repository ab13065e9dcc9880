export declare class IndexCache {
  constructor(maxBytes: number);
}
