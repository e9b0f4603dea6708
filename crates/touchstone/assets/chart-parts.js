// What all charts share: figures in words, text measured, logarithmic axes, lines with their names at the
// end.
//
// Colours are the page's CSS variables, so charts follow light, dark and print.

"use strict";

const parts = (() => {
  const FONT_PX = 12;
  const LABEL_GAP = 15;
  const INK = "currentColor";
  const SERIES = [1, 2, 3, 4, 5, 6, 7].map((number) => `var(--series-${number})`);
  const DASHES = ["none", "7 3", "2 2", "9 3 2 3", "4 2", "12 3", "1 3"];
  const TONES = {
    better: "var(--better)",
    holds: "var(--better)",
    worse: "var(--worse)",
    refuted: "var(--worse)",
    inconclusive: "var(--doubt)",
    untrusted: "var(--doubt)",
    incomparable: "var(--doubt)",
    untested: "var(--muted)",
  };
  const tone = (word) => TONES[word] ?? INK;

  // Figures

  const digits = (value) => (value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3))));

  function duration(ns) {
    const units = [
      [1e9, "s"],
      [1e6, "ms"],
      [1e3, "µs"],
      [1, "ns"],
    ];
    const [size, unit] = units.find(([size]) => ns >= size * 0.9995) ?? units[3];
    return `${digits(ns / size)} ${unit}`;
  }

  /** As in the tables: near 1 a thousandth matters. */
  function ratio(value) {
    if (value < 0.00995) return `1/${digits(1 / value)}`;
    return value < 1.9995 ? String(Number(value.toFixed(3))) : digits(value);
  }

  const count = (value) => value.toLocaleString("en");

  /** A number a second, as in the tables. */
  function perSecond(rate) {
    const units = [
      [1e9, " G/s"],
      [1e6, " M/s"],
      [1e3, " k/s"],
      [1, " /s"],
    ];
    const [size, unit] = units.find(([size]) => rate >= size * 0.9995) ?? units[3];
    return `${digits(rate / size)}${unit}`;
  }

  // Text is measured as the page sets it, so that margins fit the longest name.

  const canvas = document.createElement("canvas").getContext("2d");

  function font(variable) {
    return getComputedStyle(document.documentElement).getPropertyValue(variable);
  }

  function widest(texts, { mono = false, bold = false } = {}) {
    canvas.font = `${bold ? "bold " : ""}${FONT_PX}px ${font(mono ? "--mono" : "--plain")}`;
    return Math.ceil(Math.max(0, ...texts.map((text) => canvas.measureText(text).width)));
  }

  /** A chart is wide enough for its margins and something between them. */
  const fitting = (width, { marginLeft, marginRight }, between = 260) =>
    Math.max(width, marginLeft + marginRight + between);

  const style = () => ({
    fontFamily: font("--plain"),
    fontSize: `${FONT_PX}px`,
    background: "none",
    color: "var(--ink)",
    fontVariantNumeric: "tabular-nums",
  });

  /** A contender's name is set in the fixed-width face everywhere. */
  const name = (options) => ({ fill: INK, fontFamily: font("--mono"), fontSize: FONT_PX, ...options });

  // Axes

  const DIGITS = [[1, 2, 3, 4, 5, 6, 8], [1, 2, 5], [1, 3], [1]];

  /**
   * Round figures of each decade, as many as there is room for; evenly spaced ones where the range is
   * short.
   */
  function ticks([low, high], most = 8) {
    const choices = high / low < 4 ? [] : DIGITS.map((digits) => decades(low, high, digits));
    const fitting = choices.find((ticks) => ticks.length <= most && ticks.length > 1);
    return fitting ?? d3.ticks(low, high, Math.max(2, Math.min(6, most)));
  }

  /** The same, but the range lies between the first and the last of them. */
  function enclosing([low, high], most = 8) {
    if (high / low < 4) return d3.ticks(...d3.nice(low, high, 6), 6);
    const choices = DIGITS.map((digits) => {
      const around = decades(low / 10, high * 10, digits);
      return around.slice(d3.bisectRight(around, low) - 1, d3.bisectLeft(around, high) + 1);
    });
    return choices.find((ticks) => ticks.length <= most) ?? choices.at(-1);
  }

  function decades(low, high, digits) {
    const powers = d3.range(Math.floor(Math.log10(low)), Math.ceil(Math.log10(high)) + 1);
    return powers
      .flatMap((power) => digits.map((digit) => digit * 10 ** power))
      .filter((t) => t >= low && t <= high);
  }

  /** From the least to the most of those that a log scale has a place for. */
  const extent = (values) => d3.extent(values.filter((value) => Number.isFinite(value) && value > 0));

  /** The same, with room at both ends on the log scale. */
  function logDomain(values, room = 0.06) {
    const [low, high] = extent(values);
    const pad = Math.max(Math.log(high / low) * room, 0.004);
    return [low * Math.exp(-pad), high * Math.exp(pad)];
  }

  /** The domain made wider on both sides, where its ends are not that far apart. */
  function spanning([low, high], span) {
    const wider = Math.sqrt(Math.max(1, span / (high / low)));
    return [low / wider, high * wider];
  }

  /** The ticks of a vertical axis and its domain, between the first and the last of which all values lie. */
  function logAxis(values, span) {
    const at = enclosing(spanning(extent(values), span));
    return [at, d3.extent([...at, ...spanning(logDomain(values), span)])];
  }

  function linearAxis(ends) {
    const domain = d3.nice(...ends, 6);
    return [d3.ticks(...domain, 6), domain];
  }

  const grid = { stroke: "var(--rule)", strokeOpacity: 1 };
  const axisX = (at, say, label) =>
    Plot.axisX(at, {
      text: (tick) => say(tick),
      tickSize: 4,
      label,
      labelAnchor: "center",
      labelOffset: 36,
      labelArrow: "none",
    });
  const axisY = (at, say, label = null) =>
    Plot.axisY(at, { text: (tick) => say(tick), tickSize: 4, label, labelArrow: "none" });

  // Lines with names

  /**
   * Lines with their names at the right end, moved apart where they would meet. `dots` of a line are drawn
   * beside it. The chart is `least` high at least, with `between` as room for its lines, and its vertical axis reaches
   * from 1 to `span` at least. Charts of the same `known` contenders give each the same look; a line may bring its own.
   * What is `within` the vertical axis of several charts makes it the same for all of them. It is of times and logarithmic,
   * unless `sayY` and `linearY`, the ends of a linear one, say otherwise; the marks of `beneath` are drawn beneath the lines.
   */
  function lineChart({
    lines,
    baseline,
    width,
    domainX,
    labelX,
    labelY,
    ticksX,
    sayX,
    least = 330,
    between = 260,
    span = 1,
    within = [],
    typeX = "log",
    sayY = duration,
    linearY = null,
    beneath = [],
    known = lines.map((line) => line.arm).filter((arm) => arm !== baseline),
  }) {
    const height = Math.max(least, lines.length * LABEL_GAP + 120);
    const margins = {
      marginLeft: 62,
      marginRight:
        widest(
          lines.map((line) => line.arm),
          { mono: true },
        ) + 34,
      marginTop: 28,
      marginBottom: 44,
    };
    const points = lines.flatMap((line) => [...line.points, ...(line.dots ?? [])]);
    const typeY = linearY ? "linear" : "log";
    const values = [...points.map((point) => point.y), ...within];
    const [atY, domainY] = linearY ? linearAxis(linearY) : logAxis(values, span);
    const scaleY = Plot.scale({
      y: { type: typeY, domain: domainY, range: [height - margins.marginBottom, margins.marginTop] },
    });
    const looks = new Map(
      lines.map(({ arm, look }) => [arm, look ?? (arm === baseline ? PLAIN : lookOf(known.indexOf(arm)))]),
    );
    const labels = apart(
      lines.map((line) => ({ arm: line.arm, end: line.points.at(-1) })),
      scaleY,
      margins.marginTop,
    );
    return Plot.plot({
      width: fitting(width, margins, between),
      height,
      ...margins,
      style: style(),
      x: { type: typeX, domain: domainX },
      y: { type: typeY, domain: domainY },
      marks: [
        Plot.gridY(atY, grid),
        Plot.gridX(ticksX, grid),
        axisX(ticksX, sayX, labelX),
        axisY(atY, sayY, labelY),
        beneath,
        // The baseline first: it is the thickest and would hide the others.
        d3
          .sort(lines, (line) => line.arm !== baseline)
          .map((line) => drawLine(line, looks.get(line.arm), line.arm === baseline)),
        labels.map((label) => leader(label, looks.get(label.arm))),
        Plot.text(
          labels,
          name({
            x: (label) => label.end.x,
            y: "y",
            text: "arm",
            textAnchor: "start",
            dx: 26,
            fill: (label) => looks.get(label.arm).colour,
          }),
        ),
      ],
    });
  }

  function drawLine(line, look, isBaseline) {
    const strokeWidth = isBaseline ? 2.5 : 1.8;
    const options = {
      x: "x",
      y: "y",
      stroke: look.colour,
      strokeDasharray: look.dash,
      strokeWidth,
      curve: line.curve,
    };
    const dots = Plot.dot(line.dots ?? [], { x: "x", y: "y", r: 2, fill: look.colour, fillOpacity: 0.6 });
    return [Plot.line(line.points, options), dots];
  }

  /** The baseline's look. */
  const PLAIN = { colour: INK, dash: "none" };

  /** Every other contender has a colour and a dash of its own, by its place. */
  function lookOf(place) {
    const round = Math.floor(place / SERIES.length);
    const dash = DASHES[(place + 3 * round) % DASHES.length];
    return { colour: SERIES[place % SERIES.length], dash };
  }

  /** Labels a line apart, none above the frame, in the order of the ends they belong to. */
  function apart(labels, scale, top) {
    const placed = labels
      .map((label) => ({ ...label, px: scale.apply(label.end.y) }))
      .sort((a, b) => a.px - b.px);
    for (let pass = 0; pass < 60; pass++) {
      for (let i = 1; i < placed.length; i++) {
        const overlap = LABEL_GAP - (placed[i].px - placed[i - 1].px);
        if (overlap <= 0) continue;
        placed[i].px += overlap / 2;
        placed[i - 1].px -= overlap / 2;
      }
      const above = Math.max(0, top - placed[0].px);
      for (const label of placed.filter((label) => label.px < top + above)) label.px += above;
    }
    return placed.map((label) => ({ ...label, y: scale.invert(label.px) }));
  }

  /** From the end of a line to its label. */
  function leader(label, look) {
    return (_, { scales: { x, y } }) => {
      const [right, from, to] = [x.apply(label.end.x), y.apply(label.end.y), y.apply(label.y)];
      const path = `M${right + 2},${from}L${right + 9},${from}L${right + 16},${to}L${right + 22},${to}`;
      return d3.create("svg:path").attr("d", path).attr("fill", "none").attr("stroke", look.colour).node();
    };
  }

  return {
    INK,
    tone,
    duration,
    ratio,
    count,
    perSecond,
    widest,
    fitting,
    style,
    name,
    ticks,
    logDomain,
    grid,
    axisX,
    axisY,
    lineChart,
  };
})();
