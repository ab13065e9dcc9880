// What storage tells the operator: one kind for each thing that can be told, with fields for machines and a sentence for
// people. Whoever is given the events decides where they go.

export type StorageEvent = {
  readonly level: "debug" | "info" | "warn" | "error";
  readonly dir: string;
  readonly message: string;
} & (
  | {
      readonly kind: "recovery.finished";
      readonly scannedBytes: number;
      readonly milliseconds: number;
      readonly tornBytes: number;
    }
  | {
      readonly kind: "recovery.torn";
      readonly path: string;
      readonly position: number;
      readonly offset: number;
      readonly bytes: number;
      readonly movedTo: string;
    }
  | {
      readonly kind: "recovery.trimmed";
      readonly path: string;
      readonly position: number;
      readonly bytes: number;
      readonly movedTo: string;
    }
  | { readonly kind: "recovery.leftover-removed"; readonly path: string }
  | { readonly kind: "epoch.raised"; readonly epoch: number; readonly epochStart: number }
  | { readonly kind: "checkpoint.missing"; readonly path: string }
  | { readonly kind: "index.rebuilt"; readonly path: string; readonly reason: string }
  | { readonly kind: "index.write-failed"; readonly path: string; readonly cause: unknown }
  | { readonly kind: "segment.damaged"; readonly path: string; readonly position: number; readonly offset: number }
  | {
      readonly kind: "segment.rolled";
      readonly path: string;
      readonly baseOffset: number;
      readonly reason: "full" | "age";
    }
  | { readonly kind: "segment.prepare-failed"; readonly path: string; readonly cause: unknown }
  | {
      readonly kind: "segment.removed";
      readonly path: string;
      readonly endOffset: number;
      readonly bytes: number;
      readonly reason: "bytes" | "age";
    }
  | { readonly kind: "segment.unlink-failed"; readonly path: string; readonly cause: unknown }
  | { readonly kind: "checkpoint.write-failed"; readonly path: string; readonly cause: unknown }
  | { readonly kind: "file.foreign"; readonly path: string }
  | {
      readonly kind: "partition.poisoned";
      readonly durableOffset: number;
      readonly logEndOffset: number;
      readonly cause: unknown;
    }
  | { readonly kind: "layout.upgraded"; readonly from: number; readonly to: number }
);
