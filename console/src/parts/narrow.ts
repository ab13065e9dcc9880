// Whether there is room for everything, and whether the system is dark: asked of the browser, which says when it changes.

import { useEffect, useState } from "preact/hooks";

function useMedia(query: string): boolean {
  const [matches, setMatches] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const media = matchMedia(query);
    const changed = (): void => setMatches(media.matches);
    media.addEventListener("change", changed);
    return () => media.removeEventListener("change", changed);
  }, [query]);
  return matches;
}

export const useNarrow = (): boolean => useMedia("(max-width: 760px)");
export const useDark = (): boolean => useMedia("(prefers-color-scheme: dark)");
