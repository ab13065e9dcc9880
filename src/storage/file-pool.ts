export declare class FilePool {
  constructor(maxFiles: number);
}
