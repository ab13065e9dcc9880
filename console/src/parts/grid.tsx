// A list with columns of which only the rows in view are there, so that a hundred thousand are as quick as ten. One row is the
// current one; arrows, Home, End and page keys move it, Enter opens it. To assistive technology it is a grid with all its rows.
//
// biome-ignore-all lint/a11y/useSemanticElements: a table lays out all of its rows to know its columns; here only those in view are there
// biome-ignore-all lint/a11y/useFocusableInteractive: the grid has the focus and names its current row (aria-activedescendant)
// biome-ignore-all lint/a11y/useKeyWithClickEvents: the keys are the grid's, above

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useNarrow } from "./narrow.js";

export interface Column {
  readonly label: string;
  /** As in grid-template-columns. */
  readonly width: string;
  readonly numeric?: boolean;
  /** Left out where there is no room for it. */
  readonly optional?: boolean;
}

export interface Row {
  readonly cells: readonly ComponentChildren[];
  /** Where Enter and a click lead, if it has a page. */
  readonly href?: string;
  readonly tone?: "bad" | "quiet";
}

export interface GridProps {
  readonly label: string;
  readonly columns: readonly Column[];
  readonly count: number;
  /** Undefined: it is not here yet. */
  readonly row: (index: number) => Row | undefined;
  readonly empty: ComponentChildren;
  readonly current?: number;
  readonly onCurrent?: (index: number) => void;
  /** Which rows are in view. */
  readonly onView?: (first: number, last: number) => void;
  /** What it lists; of another list no row is chosen yet. */
  readonly of?: string;
  /** Fills what is left of its place instead of growing to a part of the window. */
  readonly fill?: boolean;
}

const ROW_PX = 30;
const BEYOND = 8;
const EDGES_PX = 2;

export function Grid(props: GridProps) {
  const { label, columns, count, row, empty, onCurrent, onView, fill = false } = props;
  const box = useRef<HTMLDivElement>(null);
  const narrow = useNarrow();
  const [own, setOwn] = useState(-1);
  const [view, setView] = useState({ top: 0, height: 600 });
  const current = Math.min(props.current ?? own, count - 1);
  // Before any row is chosen, keys begin at the first, and Enter opens it.
  const active = current < 0 && row(0)?.href !== undefined ? 0 : current;
  const id = `grid-${label.replace(/\W+/g, "-")}`;

  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const look = (): void => setView({ top: element.scrollTop, height: element.clientHeight });
    const observer = new ResizeObserver(look);
    observer.observe(element);
    element.addEventListener("scroll", look, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, []);

  useEffect(() => setOwn(-1), [props.of]);
  const first = Math.max(0, Math.floor(view.top / ROW_PX) - BEYOND);
  const last = Math.min(count - 1, Math.ceil((view.top + view.height) / ROW_PX) + BEYOND);
  useEffect(() => onView?.(first, last), [first, last, count]);

  const bringIntoView = (index: number): void => {
    const element = box.current;
    if (element === null || index < 0) return;
    // Below the head, which stays.
    const shown = element.clientHeight - ROW_PX;
    if (index * ROW_PX < element.scrollTop) element.scrollTop = index * ROW_PX;
    else if ((index + 1) * ROW_PX > element.scrollTop + shown) element.scrollTop = (index + 1) * ROW_PX - shown;
  };
  // Also when something else chose it: the picture of the segments, another page of records.
  useEffect(() => bringIntoView(current), [props.current]);
  const move = (to: number): void => {
    const index = Math.max(0, Math.min(count - 1, to));
    setOwn(index);
    onCurrent?.(index);
    bringIntoView(index);
  };
  const page = Math.max(1, Math.floor(view.height / ROW_PX) - 2);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey || count === 0) return;
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: current + 1,
      j: current + 1,
      ArrowUp: Math.max(0, current - 1),
      k: Math.max(0, current - 1),
      PageDown: current + page,
      PageUp: current - page,
      Home: 0,
      End: count - 1,
    };
    const to = steps[event.key];
    const href = event.key === "Enter" ? row(active)?.href : undefined;
    if (href !== undefined) location.hash = href;
    else if (to !== undefined) move(to);
    else return;
    event.preventDefault();
  };

  const shown = columns.map((_, place) => place).filter((place) => !(narrow && columns[place]?.optional));
  const template = shown.map((place) => columns[place]?.width).join(" ");
  const rows: ComponentChildren[] = [];
  for (let index = first; index <= last; index++) {
    const each = row(index);
    const tone = each?.tone === undefined ? "" : ` ${each.tone}`;
    rows.push(
      <div
        key={index}
        id={`${id}-${index}`}
        role="row"
        aria-rowindex={index + 2}
        aria-selected={index === current}
        class={`row${index === current ? " current" : index === active ? " begin" : ""}${tone}`}
        style={{ transform: `translateY(${index * ROW_PX}px)`, gridTemplateColumns: template }}
        onClick={() => move(index)}
        onDblClick={() => each?.href !== undefined && location.assign(each.href)}
      >
        {shown.map((place) => {
          const cell = each?.cells[place] ?? (each === undefined && place === 0 ? "…" : "");
          return (
            <div key={place} role="gridcell" class={columns[place]?.numeric ? "cell numeric" : "cell"}>
              {place === 0 && each?.href !== undefined ? (
                <a href={each.href} tabIndex={-1} title={typeof cell === "string" ? cell : undefined}>
                  {cell}
                </a>
              ) : (
                cell
              )}
            </div>
          );
        })}
      </div>,
    );
  }
  return (
    <div
      ref={box}
      class={fill ? "grid fill" : "grid"}
      role="grid"
      aria-label={label}
      aria-rowcount={count + 1}
      aria-activedescendant={active >= first && active <= last && active >= 0 ? `${id}-${active}` : undefined}
      tabIndex={0}
      style={fill && count > 0 ? { maxHeight: `${(count + 1) * ROW_PX + EDGES_PX}px` } : undefined}
      onKeyDown={onKeyDown}
    >
      <div role="row" aria-rowindex={1} class="row head" style={{ gridTemplateColumns: template }}>
        {shown.map((place) => (
          <div key={place} role="columnheader" class={columns[place]?.numeric ? "cell numeric" : "cell"}>
            {columns[place]?.label}
          </div>
        ))}
      </div>
      {count === 0 ? (
        <div class="empty">{empty}</div>
      ) : (
        <div role="rowgroup" class="rows" style={{ height: `${count * ROW_PX}px` }}>
          {rows}
        </div>
      )}
    </div>
  );
}
