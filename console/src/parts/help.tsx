// The list under `?`: what keys do here, and the switch that turns them off.

import { useEffect, useRef } from "preact/hooks";
import { EVERYWHERE, shortcutGroups, shortcutsOn, turnShortcuts } from "../lib/keys.js";
import { useStore } from "../lib/store.js";

const LISTS: readonly (readonly [keys: string, what: string])[] = [
  ["↑ ↓ j k", "move in the list that has the focus"],
  ["Home End", "its first and last row"],
  ["PgUp PgDn", "a page of it"],
  ["Enter", "open the row"],
];

export function Help({ onClose }: { readonly onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const on = useStore(shortcutsOn);
  useEffect(() => dialog.current?.showModal(), []);
  const own = shortcutGroups();
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape is the browser's own for a dialog
    <dialog
      ref={dialog}
      class="help"
      aria-labelledby="help-title"
      onClose={onClose}
      onClick={(event) => event.target === dialog.current && dialog.current?.close()}
    >
      <form method="dialog">
        <h2 id="help-title">Keys</h2>
        {own.map(([group, shortcuts]) => (
          <section key={group}>
            <h3>{group}</h3>
            <Keys keys={shortcuts.map(({ keys, what }) => [keys, what])} />
          </section>
        ))}
        <section>
          <h3>Lists</h3>
          <Keys keys={LISTS} />
        </section>
        <label>
          <input type="checkbox" checked={on} onChange={(event) => turnShortcuts(event.currentTarget.checked)} /> Single
          keys work
          {own.some(([group]) => group === EVERYWHERE) ? "" : " (none here)"}
        </label>
        <button type="submit">Close</button>
      </form>
    </dialog>
  );
}

function Keys({ keys }: { readonly keys: readonly (readonly [string, string])[] }) {
  return (
    <dl>
      {keys.map(([key, what]) => (
        <div key={key}>
          <dt>{key.split(" ").map((each) => [<kbd key={each}>{each}</kbd>, " "])}</dt>
          <dd>{what}</dd>
        </div>
      ))}
    </dl>
  );
}
