'use strict';
// The page of `shoal-trace report`: a timeline that stays quick with a million tasks, and tables.
// Times are nanoseconds. Large columns are arrays of numbers in base64; see report.cpp.
(() => {
const byId = id => document.getElementById(id);
const data = JSON.parse(byId('data').textContent);
const other = JSON.parse(byId('other').textContent);  // of a comparison: {text, run}; else null

const decode = (text, Type) => {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; ++i) bytes[i] = binary.charCodeAt(i);
  return new Type(bytes.buffer);
};
const columns = (from, types) => {
  const all = {};
  for (const [name, Type] of Object.entries(types)) all[name] = decode(from[name], Type);
  return all;
};
const readRun = of => ({
  // Sorted by track and begin; track t has [offset[t], offset[t + 1]).
  segments: columns(of.segments, {offset: Uint32Array, begin: Float64Array, length: Float32Array,
    name: Uint32Array, wait: Float32Array}),
  others: columns(of.others, {offset: Uint32Array, begin: Float64Array, length: Float32Array,
    name: Uint32Array, what: Uint8Array}),
  messages: columns(of.messages, {sent: Float64Array, arrived: Float64Array, from: Uint32Array,
    to: Uint32Array, name: Uint32Array, bytes: Float64Array}),  // by sent
  paths: [columns(of.path, {begin: Float64Array, end: Float64Array, what: Uint8Array,
    index: Uint32Array, name: Uint32Array, track: Int32Array})],  // by begin
  marks: columns(of.marks, {time: Float64Array, track: Uint32Array, name: Uint32Array}),
  keys: of.keys,  // of segments, or null when they are too many
  // Segments that each one waited for, or null; row i has [offset[i], offset[i + 1]).
  needs: of.needs && columns(of.needs, {offset: Uint32Array, row: Uint32Array}),
  // Of the tasks of segments, -1 for none; null without any.
  iterationOf: of.iteration && decode(of.iteration, Float64Array),
  // Where the tasks of segments were inserted: number of a place, kNone for none; null without any.
  insertions: of.insertions && {places: of.insertions.places,
    place: decode(of.insertions.place, Uint32Array)},
  hintTracks: of.hints.map(hint => hint.track),
  names: of.names,
  tracks: of.tracks,
});

// Two runs on one time axis: each track of the second one below the same one of the first.
const overlay = (a, b) => {
  const runs = [a, b];
  const names = [...new Set([...a.names, ...b.names])];
  const numberOf = new Map(names.map((name, i) => [name, i]));
  const nameOf = runs.map(run => run.names.map(name => numberOf.get(name)));
  const tracks = runs.flatMap((run, source) => run.tracks.map((track, index) => ({...track, source,
    index, place: index - run.tracks.findIndex(other => other.rank === track.rank)})));
  tracks.sort((x, y) => x.rank - y.rank || x.place - y.place || x.source - y.source);
  const rowOf = runs.map(run => new Uint32Array(run.tracks.length));
  tracks.forEach((track, row) => { rowOf[track.source][track.index] = row; });
  const keys = a.keys || b.keys ? [] : null;
  const byTrack = (kind, copyKeys) => {
    const all = {};
    for (const [name, values] of Object.entries(a[kind])) {
      all[name] = new values.constructor(values.length + b[kind][name].length);
    }
    all.offset = new Uint32Array(tracks.length + 1);
    let at = 0;
    tracks.forEach(({source, index}, row) => {
      const from = runs[source][kind];
      const low = from.offset[index], high = from.offset[index + 1];
      for (const name of Object.keys(from)) {
        if (name !== 'offset') all[name].set(from[name].subarray(low, high), at);
      }
      for (let i = low; i < high; ++i) {
        all.name[at + i - low] = nameOf[source][from.name[i]];
        if (copyKeys && keys) keys.push(runs[source].keys ? runs[source].keys[i] : '');
      }
      at += high - low;
      all.offset[row + 1] = at;
    });
    return all;
  };
  // Rows of both, by time; `numbers[source][i]`: the new number of row i.
  const byTime = (kind, time, tracksIn) => {
    const all = {}, firsts = [0, a[kind][time].length];
    for (const [name, values] of Object.entries(a[kind])) {
      all[name] = new values.constructor(values.length + b[kind][name].length);
    }
    const order = Array.from(all[time], (_, i) => i);
    const place = i => i < firsts[1] ? [0, i] : [1, i - firsts[1]];
    const timeOf = i => runs[place(i)[0]][kind][time][place(i)[1]];
    order.sort((x, y) => timeOf(x) - timeOf(y));
    const numbers = runs.map(run => new Uint32Array(run[kind][time].length));
    order.forEach((i, number) => {
      const [source, row] = place(i);
      numbers[source][row] = number;
      for (const name of Object.keys(all)) {
        const value = runs[source][kind][name][row];
        all[name][number] = name === 'name' ? nameOf[source][value] :
          tracksIn.includes(name) ? rowOf[source][value] : value;
      }
    });
    return {all, numbers};
  };
  const segments = byTrack('segments', true);
  const others = byTrack('others', false);
  const {all: messages, numbers} = byTime('messages', 'sent', ['from', 'to']);
  const {all: marks} = byTime('marks', 'time', ['track']);
  const paths = runs.map((run, source) => ({...run.paths[0],
    index: run.paths[0].index.map(i => i < numbers[source].length ? numbers[source][i] : i),
    track: run.paths[0].track.map(track => track < 0 ? track : rowOf[source][track])}));
  return {segments, others, messages, paths, marks, keys, names, tracks, needs: null,
    iterationOf: null, insertions: null, hintTracks: []};
};
// Threads that did nothing get no row.
const withoutEmptyTracks = run => {
  const used = run.tracks.map((track, i) =>
    run.segments.offset[i] < run.segments.offset[i + 1] ||
    run.others.offset[i] < run.others.offset[i + 1]);
  for (const list of [run.messages.from, run.messages.to, run.marks.track]) {
    for (const track of list) used[track] = true;
  }
  const rowOf = [];
  let rows = 0;
  for (const is of used) rowOf.push(is ? rows++ : -1);
  if (rows === used.length) return run;
  const compact = table => {
    table.offset = table.offset.filter((_, i) => i === used.length || used[i]);
  };
  compact(run.segments);
  compact(run.others);
  for (const list of [run.messages.from, run.messages.to, run.marks.track, run.paths[0].track,
    run.hintTracks]) {
    list.forEach((track, i) => { if (track >= 0) list[i] = rowOf[track]; });
  }
  run.tracks = run.tracks.filter((_, i) => used[i]);
  return run;
};
const isPair = other !== null;
const sources = isPair ? [data, other.run] : [data];
const readRows = of => withoutEmptyTracks(readRun(of));
const shown = isPair ? overlay(readRows(data), readRows(other.run)) : readRows(data);
const {segments, others, messages, paths, marks, keys, names, tracks, needs, iterationOf,
  insertions, hintTracks} = shown;
const longestMessage = Math.max(...sources.map(one => one.longest_message));
for (const part of document.querySelectorAll(isPair ? '.one' : '.two')) part.remove();
const kNone = 0xffffffff;
const kWhat = ['asleep', 'progress', 'handler', 'window full', 'collective', 'span'];
const kWhatColor = ['#eef1f5', '#dfe6ef', '#9db4cc', '#e0574f', '#c9b6e4', '#b7dcc4'];

const timeText = ns => {
  for (const [size, unit] of [[1e9, 's'], [1e6, 'ms'], [1e3, 'us']]) {
    if (Math.abs(ns) >= size) return (ns / size).toPrecision(4) + ' ' + unit;
  }
  return ns.toPrecision(3) + ' ns';
};
const bytesText = bytes => {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  while (bytes >= 1024 && unit + 1 < units.length) { bytes /= 1024; ++unit; }
  return bytes.toPrecision(3) + ' ' + units[unit];
};
const share = (part, whole) => whole > 0 ? (100 * part / whole).toFixed(1) + ' %' : '';
const palette = ['#4878b0', '#e08a3c', '#55a05a', '#8d6bb8', '#8c6350', '#d277b4', '#6f7783',
  '#b0a52f', '#3fa7b8', '#5a5fc7', '#97b84c', '#c78f8f'];
const nameText = id => names[id] || 'task';
const taskNames = [...new Set(sources.flatMap(one => one.statistics.map(row => row.name)))];
const ownColors = Object.assign({}, ...sources.map(one => one.colours));  // that the program chose
const colorByName = new Map(taskNames.map((name, i) =>
  [name, ownColors[name] ? '#' + ownColors[name] : palette[i % palette.length]]));
const dataSizes = Object.assign({}, ...sources.map(one => one.data));  // [bytes, owner] by name
const places = Object.assign({}, ...sources.map(one => one.places));  // in the source, by name
const colorOf = names.map(name => colorByName.get(name) || palette[6]);
const labelOf = row => `${isPair ? 'AB'[tracks[row].source] + ' ' : ''}rank ${tracks[row].rank} ` +
  tracks[row].name;

// ---- tables -----------------------------------------------------------------------------------
const add = (parent, tag, text, attributes) => {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  Object.assign(element, attributes);
  parent.append(element);
  return element;
};
const table = (id, head, rows) => {
  const to = byId(id);
  const top = add(to, 'tr');
  for (const text of head) add(top, 'th', text);
  for (const row of rows) {
    const line = add(to, 'tr');
    for (const cell of row) {
      const td = add(line, 'td', cell instanceof Node ? undefined : cell);
      if (cell instanceof Node) td.append(cell);
    }
  }
};
const histogram = counts => {
  const bars = document.createElement('span');
  bars.className = 'bars';
  const used = counts.map((count, i) => count > 0 ? i : -1).filter(i => i >= 0);
  const most = Math.max(...counts, 1);
  for (let i = used[0]; i <= used[used.length - 1]; ++i) {
    const bar = add(bars, 'i');
    bar.style.height = (counts[i] > 0 ? 2 + 24 * counts[i] / most : 0) + 'px';
    bar.title = timeText(2 ** i) + ' to ' + timeText(2 ** (i + 1)) + ': ' + counts[i];
  }
  return bars;
};

const countText = (count, what) => count === null ? what + ' not recorded' : `${count} ${what}`;
const factsOf = one => `${timeText(one.duration)}, ${one.tracks.length} tracks, ` +
  `${countText(one.task_count, 'tasks')}, ${countText(one.message_count, 'messages')}` +
  (one.note ? '. ' + one.note : '');
if (isPair) {
  document.title = 'A: ' + data.title + ', B: ' + other.run.title;
  byId('title').textContent = 'Two runs';
  byId('facts').textContent = `A: ${factsOf(data)}. B: ${factsOf(other.run)}.`;
  byId('difference').textContent = other.text;
} else {
  document.title = data.title;
  byId('title').textContent = data.title;
  byId('facts').textContent = factsOf(data);
  byId('path-text').textContent = data.path_text;
  for (const line of data.idle) add(byId('idle'), 'li', line);
  byId('verdict').textContent = data.verdict.join(' ');
  data.hints.forEach((hint, i) => {
    const item = add(byId('hints'), 'li', hint.text + ' ', {className: hint.kind});
    if (hint.track < 0) return;
    add(item, 'button', 'show', {title: 'in the timeline', onclick: () => showHint(i)});
  });
  table('path-table', ['part', 'rank', 'time', 'of the run', 'steps'],
    data.path_shares.map(one => [one.what + (one.name ? ' ' + one.name : ''),
      one.rank < 0 ? '' : one.rank, timeText(one.ns), share(one.ns, data.duration), one.steps]));
  table('names', ['name', 'count', 'total', 'least', 'median', 'most', 'mean wait', 'durations'],
    data.statistics.map(one => [one.name, one.count, timeText(one.total), timeText(one.least),
      timeText(one.median), timeText(one.most), timeText(one.wait / one.count),
      histogram(one.histogram)]));
  table('ranks', ['rank', 'workers', 'tasks', 'busy', 'handlers', 'asleep', 'other', 'window full'],
    data.ranks.map(one => {
      const whole = data.duration * one.workers;
      return [one.rank, one.workers, one.tasks, share(one.busy, whole), share(one.handlers, whole),
        share(one.asleep, whole), share(one.other, whole), share(one.window, data.duration)];
    }));
  table('latencies', ['handler', 'messages', 'bytes', 'in window', 'on the way', 'until the rank looks',
    'until a worker is free'],
    data.latencies.map(one => [one.name, one.count, bytesText(one.bytes),
      ...one.parts.map(ns => timeText(ns / one.count))]));
}

// ---- timeline ---------------------------------------------------------------------------------
const kRow = 18, kLabel = isPair ? 150 : 130, kAxis = 20;
const rows = tracks.length;
const canvas = byId('timeline'), scroller = byId('scroller'), overview = byId('overview');
const view = {begin: 0, end: Math.max(...sources.map(one => one.duration), 1)};
const whole = view.end;
let found = -1;  // segment that the search has found
let hovered = -1;  // segment under the pointer
let wantsDraw = false;
const drawTimes = [];

// First of [low, high) for which `ends[i]` is beyond `time`; they increase.
const firstAfter = (low, high, endOf, time) => {
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (endOf(middle) > time) high = middle; else low = middle + 1;
  }
  return low;
};
const segmentEnd = i => segments.begin[i] + segments.length[i];
const otherEnd = i => others.begin[i] + others.length[i];
// Others nest: the latest end up to each of them on its track, which increases.
const reach = new Float64Array(others.begin.length);
for (let track = 0; track < rows; ++track) {
  let latest = 0;
  for (let i = others.offset[track]; i < others.offset[track + 1]; ++i) {
    reach[i] = latest = Math.max(latest, otherEnd(i));
  }
}
const otherReach = i => reach[i];
let width = 1;  // of the plot, in pixels; measured once for a drawing: asking lays out the page
const xOf = time => kLabel + (time - view.begin) / (view.end - view.begin) * width;
const timeAt = x => view.begin + (x - kLabel) / width * (view.end - view.begin);

const fit = (element, cssWidth, cssHeight) => {
  const ratio = window.devicePixelRatio || 1;
  element.style.width = cssWidth + 'px';
  element.style.height = cssHeight + 'px';
  element.width = Math.round(cssWidth * ratio);
  element.height = Math.round(cssHeight * ratio);
  const context = element.getContext('2d');
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
};

// Draws what is in view and visible; of what is narrower than a pixel, one for each pixel.
const drawRow = (context, from, track, endOf, reachOf, draw) => {
  const high = from.offset[track + 1];
  let i = firstAfter(from.offset[track], high, reachOf, view.begin);
  const perPixel = (view.end - view.begin) / width;
  while (i < high && from.begin[i] < view.end) {
    const left = Math.max(xOf(from.begin[i]), kLabel);
    const right = Math.min(xOf(endOf(i)), kLabel + width);
    if (right >= kLabel) draw(i, left, Math.max(right - left, 1));
    if (right - left >= 1) { ++i; continue; }
    i = firstAfter(i + 1, high, reachOf, Math.max(from.begin[i], view.begin) + perPixel);
  }
};

const drawMessages = (context, top, visible) => {
  const low = firstAfter(0, messages.sent.length, i => messages.sent[i],
    view.begin - longestMessage);
  const high = firstAfter(low, messages.sent.length, i => messages.sent[i], view.end);
  const kMost = 4000;
  if (high - low > kMost) return `zoom in to see messages (${high - low} here)`;
  context.strokeStyle = 'rgba(40, 50, 70, .45)';
  context.beginPath();
  for (let i = low; i < high; ++i) {
    if (messages.arrived[i] < view.begin) continue;
    const y0 = messages.from[i] - top, y1 = messages.to[i] - top;
    if ((y0 < 0 && y1 < 0) || (y0 > visible && y1 > visible)) continue;
    const x0 = xOf(messages.sent[i]), x1 = xOf(messages.arrived[i]);
    const from = kAxis + (y0 + .5) * kRow, to = kAxis + (y1 + .5) * kRow;
    context.moveTo(x0, from);
    context.lineTo(x1, to);
    const angle = Math.atan2(to - from, x1 - x0);
    for (const turn of [-.4, .4]) {
      context.moveTo(x1, to);
      context.lineTo(x1 - 6 * Math.cos(angle + turn), to - 6 * Math.sin(angle + turn));
    }
  }
  context.stroke();
  return '';
};

const drawPath = (context, top, path) => {
  context.strokeStyle = '#c8102e';
  context.lineWidth = 2;
  context.beginPath();
  let lastX = -1, lastY = -1, lastMessageX = -1;
  for (let i = firstAfter(0, path.end.length, k => path.end[k], view.begin);
       i < path.begin.length && path.begin[i] < view.end; ++i) {
    const x0 = Math.max(xOf(path.begin[i]), kLabel), x1 = Math.min(xOf(path.end[i]), kLabel + width);
    if (path.what[i] === 1 && path.index[i] !== kNone) {
      const m = path.index[i];
      if (x1 - lastMessageX < 1) continue;
      lastMessageX = x1;
      context.moveTo(x0, kAxis + (messages.from[m] - top + .5) * kRow);
      context.lineTo(x1, kAxis + (messages.to[m] - top + .5) * kRow);
      continue;
    }
    if (path.track[i] < 0) continue;
    const y = kAxis + (path.track[i] - top) * kRow;
    if (x1 - lastX < 1 && y === lastY) continue;
    lastX = x1;
    lastY = y;
    if (path.what[i] === 0) context.rect(x0, y + 2, Math.max(x1 - x0, .5), kRow - 4);
    else { context.moveTo(x0, y + kRow / 2); context.lineTo(x1, y + kRow / 2); }
  }
  context.stroke();
  context.lineWidth = 1;
};

const drawMarks = (context, top, visible) => {
  context.fillStyle = '#1d2733';
  for (let i = firstAfter(0, marks.time.length, k => marks.time[k], view.begin - 1);
       i < marks.time.length && marks.time[i] <= view.end; ++i) {
    const y = marks.track[i] - top;
    if (y < -1 || y > visible) continue;
    const x = xOf(marks.time[i]), bottom = kAxis + (y + 1) * kRow;
    context.beginPath();
    context.moveTo(x, bottom - 7);
    context.lineTo(x - 4, bottom);
    context.lineTo(x + 4, bottom);
    context.fill();
  }
};

// Lines where the run could have ended at best.
const drawBounds = context => {
  sources.forEach((one, source) => {
    for (const [what, at] of Object.entries(one.bounds)) {
      if (at <= 0 || at < view.begin || at > view.end) continue;
      const x = xOf(at), label = what + (isPair ? ' ' + 'AB'[source] : '');
      context.strokeStyle = context.fillStyle = what === 'work' ? '#2f7d4f' : '#b3261e';
      context.setLineDash([2, 3]);
      context.beginPath();
      context.moveTo(x, kAxis);
      context.lineTo(x, canvas.clientHeight);
      context.stroke();
      context.setLineDash([]);
      context.fillText(label, x + 3, kAxis + (what === 'work' ? 11 : 23));
    }
  });
};

const drawNeeds = (context, top) => {
  if (needs === null || hovered < 0) return;
  const rowOf = i => firstAfter(0, rows, t => segments.offset[t + 1], i) - top;
  context.strokeStyle = '#000';
  for (let k = needs.offset[hovered]; k < needs.offset[hovered + 1]; ++k) {
    const from = needs.row[k];
    context.beginPath();
    context.moveTo(xOf(segmentEnd(from)), kAxis + (rowOf(from) + .5) * kRow);
    context.lineTo(xOf(segments.begin[hovered]), kAxis + (rowOf(hovered) + .5) * kRow);
    context.stroke();
  }
};

const drawAxis = context => {
  const step = 10 ** Math.floor(Math.log10((view.end - view.begin) / 4));
  const by = [1, 2, 5, 10].map(k => k * step).find(k => (view.end - view.begin) / k <= 10) || step;
  context.fillStyle = '#5a6675';
  context.strokeStyle = '#e6eaf0';
  context.beginPath();
  for (let t = Math.ceil(view.begin / by) * by; t <= view.end; t += by) {
    const x = xOf(t);
    context.fillText(timeText(t), x + 3, 13);
    context.moveTo(x, 0);
    context.lineTo(x, canvas.clientHeight);
  }
  context.stroke();
};

const draw = () => {
  wantsDraw = false;
  const started = performance.now();
  const cssWidth = scroller.clientWidth;
  width = Math.max(cssWidth - kLabel, 1);
  const cssHeight = Math.min(kAxis + rows * kRow, 560);
  byId('spacer').style.height = (kAxis + rows * kRow) + 'px';
  const context = fit(canvas, cssWidth, cssHeight);
  context.font = '12px system-ui, sans-serif';
  const top = scroller.scrollTop / kRow;
  const visible = (cssHeight - kAxis) / kRow;
  drawAxis(context);
  context.save();
  context.beginPath();
  context.rect(0, kAxis, cssWidth, cssHeight);
  context.clip();
  for (let track = Math.floor(top); track < Math.min(rows, top + visible + 1); ++track) {
    const y = kAxis + (track - top) * kRow;
    drawRow(context, others, track, otherEnd, otherReach, (i, x, w) => {
      context.fillStyle = kWhatColor[others.what[i]];
      context.fillRect(x, y + 1, w, kRow - 2);
    });
    drawRow(context, segments, track, segmentEnd, segmentEnd, (i, x, w) => {
      context.fillStyle = colorOf[segments.name[i]] || palette[6];
      context.fillRect(x, y + 2, w > 3 ? w - .5 : w, kRow - 4);
      if (w < 40) return;
      context.fillStyle = '#fff';
      const text = nameText(segments.name[i]) + (keys && keys[i] ? ' ' + keys[i] : '');
      context.save();
      context.beginPath();
      context.rect(x, y, w - 2, kRow);
      context.clip();
      context.fillText(text, x + 3, y + 13);
      context.restore();
    });
    if (found >= segments.offset[track] && found < segments.offset[track + 1]) {
      context.strokeStyle = '#000';
      context.lineWidth = 2;
      context.strokeRect(xOf(segments.begin[found]), y + 1,
        Math.max(xOf(segmentEnd(found)) - xOf(segments.begin[found]), 2), kRow - 2);
      context.lineWidth = 1;
    }
  }
  context.save();
  context.beginPath();
  context.rect(kLabel, kAxis, width, cssHeight);
  context.clip();
  const note = byId('messages').checked ? drawMessages(context, top, visible) : '';
  if (byId('path').checked) paths.forEach(path => drawPath(context, top, path));
  drawMarks(context, top, visible);
  drawNeeds(context, top);
  if (byId('bounds').checked) drawBounds(context);
  context.restore();
  for (let track = Math.floor(top); track < Math.min(rows, top + visible + 1); ++track) {
    context.fillStyle = '#fff';
    context.fillRect(0, kAxis + (track - top) * kRow, kLabel - 2, kRow);
    context.fillStyle = '#1d2733';
    context.fillText(labelOf(track).slice(0, isPair ? 26 : 22), 2,
      kAxis + (track - top) * kRow + 13);
  }
  context.restore();
  byId('status').textContent = note;
  drawOverview();
  for (const chart of timeCharts) chart.setScale('x', {min: view.begin, max: view.end});
  drawTimes.push(performance.now() - started);
};
const redraw = () => {
  if (wantsDraw) return;
  wantsDraw = true;
  requestAnimationFrame(draw);
};

const kSourceColor = ['#e08a3c', '#8d6bb8'];  // of ready tasks
const drawOverview = () => {
  const cssWidth = scroller.clientWidth;
  const context = fit(overview, cssWidth, 72);
  const across = cssWidth - kLabel;
  const most = Math.max(...sources.flatMap(one => one.ready), 1);
  sources.forEach((one, source) => {
    const bins = one.utilization.length, wide = across * Math.max(one.duration, 1) / whole / bins;
    context.fillStyle = source === 0 ? '#a9c3e2' : 'rgba(141, 107, 184, .35)';
    for (let i = 0; i < bins; ++i) {
      const height = 68 * Math.min(one.utilization[i], 1);
      context.fillRect(kLabel + i * wide, 70 - height, wide + .5, height);
    }
    context.strokeStyle = kSourceColor[source];
    context.beginPath();
    for (let i = 0; i < bins; ++i) {
      context.lineTo(kLabel + (i + .5) * wide, 70 - 66 * one.ready[i] / most);
    }
    context.stroke();
  });
  context.fillStyle = '#5a6675';
  context.font = '12px system-ui, sans-serif';
  context.fillText('busy workers', 2, 20);
  context.fillText(`ready tasks, ${Math.round(most)} at most`.slice(0, 26), 2, 40);
  const left = kLabel + view.begin / whole * across, right = kLabel + view.end / whole * across;
  context.fillStyle = 'rgba(120, 130, 145, .25)';
  context.fillRect(kLabel, 0, left - kLabel, 72);
  context.fillRect(right, 0, cssWidth - right, 72);
};

const zoomTo = (begin, end) => {
  const least = Math.min(whole, 20);
  if (end - begin < least) {
    const middle = (begin + end) / 2;
    begin = middle - least / 2;
    end = middle + least / 2;
  }
  const length = Math.min(end - begin, whole);
  begin = Math.min(Math.max(begin, 0), whole - length);
  view.begin = begin;
  view.end = begin + length;
  redraw();
};
const zoom = (factor, around) => zoomTo(around - (around - view.begin) * factor,
  around + (view.end - around) * factor);

// Index of the segment, or of the other interval, at a point of the canvas.
const hit = (x, y) => {
  const track = Math.floor((y - kAxis + scroller.scrollTop) / kRow);
  if (x < kLabel || y < kAxis || track < 0 || track >= rows) return null;
  const slack = (view.end - view.begin) / width;
  const time = timeAt(x);
  const i = firstAfter(segments.offset[track], segments.offset[track + 1], segmentEnd, time - slack);
  if (i < segments.offset[track + 1] && segments.begin[i] <= time + slack) return {segment: i, track};
  let inner = -1;
  for (let k = firstAfter(others.offset[track], others.offset[track + 1], otherReach, time - slack);
       k < others.offset[track + 1] && others.begin[k] <= time + slack; ++k) {
    if (otherEnd(k) >= time - slack) inner = k;
  }
  return inner < 0 ? null : {other: inner, track};
};
const tipText = at => {
  if (at.segment === undefined) {
    const k = at.other;
    const name = others.name[k] ? ' ' + nameText(others.name[k]) : '';
    return `${kWhat[others.what[k]]}${name}\n${timeText(others.length[k])} from ` +
      timeText(others.begin[k]);
  }
  const i = at.segment;
  const wait = segments.wait[i] >= 0 ? `\nwas ready ${timeText(segments.wait[i])} before` : '';
  const iteration = iterationOf === null ? -1 : iterationOf[i];
  return `${taskText(i)}\n` +
    `${timeText(segments.length[i])} from ${timeText(segments.begin[i])}${wait}\n` +
    labelOf(at.track) + (tracks[at.track].node >= 0 ? `, NUMA node ${tracks[at.track].node}` : '') +
    dataText(i) + (iteration >= 0 ? `\niteration ${iteration}` : '') +
    placeText(i) + needsText(i);
};
// Where the task was inserted, or else where those of its name are made.
const placeText = i => {
  const inserted = insertions === null ? kNone : insertions.place[i];
  if (inserted !== kNone) return `\ninserted at ${insertions.places[inserted]}`;
  const made = places[nameText(segments.name[i])] || [];
  return made.length > 0 ? `\nmade at ${listText(made)}` : '';
};
const listText = all => {
  const kShown = 6;
  return all.slice(0, kShown).join(', ') +
    (all.length > kShown ? ` and ${all.length - kShown} more` : '');
};
// The data of a flow's task, whose key is their names in parentheses; a name may have commas.
const kDataShown = 6;
const dataOf = i => {
  const all = [], key = keys && keys[i] ? keys[i] : '';
  const parts = key.startsWith('(') ? key.slice(1, -1).split(', ') : [];
  for (let begin = 0, end; begin < parts.length; begin = end) {
    const nameTo = to => parts.slice(begin, to).join(', ');
    for (end = parts.length; end > begin + 1 && !(nameTo(end) in dataSizes); --end) continue;
    if (nameTo(end) in dataSizes) all.push(nameTo(end));
  }
  return all;
};
const dataText = i => {
  const all = dataOf(i);
  const lines = all.slice(0, kDataShown).map(name =>
    `\ndatum ${name}: ${bytesText(dataSizes[name][0])} of rank ${dataSizes[name][1]}`);
  return lines.join('') + (all.length > kDataShown ? `\nand ${all.length - kDataShown} more` : '');
};
const taskText = i => nameText(segments.name[i]) + (keys && keys[i] ? ' ' + keys[i] : '');
const needsOf = i => needs === null ? [] :
  Array.from(needs.row.subarray(needs.offset[i], needs.offset[i + 1]));
const needsText = i => {
  const all = needsOf(i).map(taskText);
  return all.length === 0 ? '' : '\n' + 'needed ' + listText(all);
};
// Shows in the timeline what a hint is about.
const showHint = i => {
  const {begin, end} = data.hints[i], track = hintTracks[i];
  scroller.scrollTop = Math.max(0, track * kRow - 200);
  const at = firstAfter(segments.offset[track], segments.offset[track + 1], segmentEnd, begin);
  found = at < segments.offset[track + 1] && segments.begin[at] === begin ? at : -1;
  const length = Math.max(end - begin, 1000);
  zoomTo(begin - 2 * length, end + 2 * length);
  scroller.scrollIntoView({block: 'nearest'});
};

const trackOf = i => firstAfter(0, rows, t => segments.offset[t + 1], i);
const showSegment = i => {
  found = i;
  scroller.scrollTop = Math.max(0, trackOf(i) * kRow - 200);
  const length = Math.max(segments.length[i] * 20, 1000);
  zoomTo(segments.begin[i] - length / 2, segments.begin[i] + length / 2);
  showTask(i);
};
// Tasks and transfers that needed a task.
const followersOf = i => {
  const all = [];
  if (needs === null) return all;
  for (let k = needs.row.indexOf(i); k >= 0; k = needs.row.indexOf(i, k + 1)) {
    all.push(firstAfter(0, segments.begin.length, row => needs.offset[row + 1], k));
  }
  return all;
};
// Facts of a task, and the ways to what it needed and to what needed it.
const showTask = i => {
  const panel = byId('task');
  panel.hidden = false;
  panel.replaceChildren();
  add(panel, 'pre', tipText({segment: i, track: trackOf(i)}));
  const kWays = 20;
  for (const [text, all] of [['needed ', needsOf(i)], ['needed by ', followersOf(i)]]) {
    if (all.length === 0) continue;
    const line = add(panel, 'p', text);
    for (const k of all.slice(0, kWays)) {
      add(line, 'button', taskText(k), {onclick: () => showSegment(k)});
    }
  }
};

const findNext = text => {
  text = text.trim().toLowerCase();
  if (!text) return false;
  const isWanted = names.map(name => name.toLowerCase().includes(text));
  const count = segments.begin.length;
  for (let step = 1; step <= count; ++step) {
    const i = (found + step) % count;
    const full = keys && keys[i] ? (nameText(segments.name[i]) + ' ' + keys[i]).toLowerCase() : '';
    if (!isWanted[segments.name[i]] && !full.includes(text)) continue;
    showSegment(i);
    return true;
  }
  found = -1;
  byId('status').textContent = `no task is called "${text}"`;
  return false;
};

let drag = null;
canvas.addEventListener('wheel', event => {
  if (event.shiftKey) return;  // scrolls
  event.preventDefault();
  zoom(event.deltaY > 0 ? 1.25 : .8, timeAt(event.offsetX));
}, {passive: false});
canvas.addEventListener('pointerdown', event => {
  drag = {x: event.clientX, begin: view.begin, end: view.end};
  canvas.setPointerCapture(event.pointerId);
});
canvas.addEventListener('pointerup', event => {
  const isClick = drag !== null && Math.abs(event.clientX - drag.x) < 3;
  drag = null;
  const at = isClick ? hit(event.offsetX, event.offsetY) : null;
  if (at === null || at.segment === undefined) return;
  found = at.segment;
  showTask(found);
  redraw();
});
canvas.addEventListener('pointermove', event => {
  const tip = byId('tip');
  if (drag) {
    const by = (drag.x - event.clientX) / width * (drag.end - drag.begin);
    zoomTo(drag.begin + by, drag.end + by);
    tip.hidden = true;
    return;
  }
  const at = hit(event.offsetX, event.offsetY);
  const before = hovered;
  hovered = at === null || at.segment === undefined ? -1 : at.segment;
  if (needs !== null && hovered !== before) redraw();
  tip.hidden = at === null;
  if (at === null) return;
  tip.textContent = tipText(at);
  tip.style.left = Math.min(event.clientX + 14, window.innerWidth - 260) + 'px';
  tip.style.top = (event.clientY + 14) + 'px';
});
canvas.addEventListener('pointerleave', () => { byId('tip').hidden = true; });
canvas.addEventListener('dblclick', event => {
  const at = hit(event.offsetX, event.offsetY);
  if (at === null || at.segment === undefined) return;
  const length = segments.length[at.segment];
  zoomTo(segments.begin[at.segment] - length, segments.begin[at.segment] + 2 * length);
});
let brush = null;
const overviewTime = event => (event.offsetX - kLabel) / (overview.clientWidth - kLabel) * whole;
overview.addEventListener('pointerdown', event => {
  brush = overviewTime(event);
  overview.setPointerCapture(event.pointerId);
});
overview.addEventListener('pointermove', event => {
  if (brush === null) return;
  const now = overviewTime(event);
  zoomTo(Math.min(brush, now), Math.max(brush, now));
});
overview.addEventListener('pointerup', () => { brush = null; });
byId('all').addEventListener('click', () => zoomTo(0, whole));
byId('in').addEventListener('click', () => zoom(.5, (view.begin + view.end) / 2));
byId('out').addEventListener('click', () => zoom(2, (view.begin + view.end) / 2));
byId('messages').addEventListener('change', redraw);
byId('path').addEventListener('change', redraw);
byId('bounds').addEventListener('change', redraw);
byId('next').addEventListener('click', () => findNext(byId('search').value));
byId('search').addEventListener('keydown', event => {
  if (event.key === 'Enter') findNext(byId('search').value);
});
scroller.addEventListener('scroll', redraw);
window.addEventListener('resize', redraw);

// Transfers of flows have a name for each family of data: those of the tasks would not be seen.
const isTransfer = name => /^(sending|receiving) /.test(name);
for (const name of taskNames.filter(name => !isTransfer(name)).slice(0, 12)) {
  const item = add(byId('legend'), 'span');
  add(item, 'i').style.background = colorByName.get(name);
  item.append(name);
}
kWhat.forEach((what, i) => {
  const item = add(byId('legend'), 'span');
  add(item, 'i').style.background = kWhatColor[i];
  item.append(what);
});

// ---- charts, by uPlot ---------------------------------------------------------------------------
const kLine = '#e6eaf0', kInk = '#5a6675';
const tickText = ns => timeText(ns).replace(/\.?0+ /, ' ');
const axisOf = values => ({stroke: kInk, grid: {stroke: kLine}, ticks: {stroke: kLine}, values});
const chartSize = height => ({width: Math.max(byId('over-time').clientWidth, 300), height});
const timeSeries = {label: 'time', value: (chart, ns) => ns == null ? '' : timeText(ns)};
const timeCharts = [], allCharts = [];
const addChart = (place, height, options, rowsOf) => {
  const chart = new uPlot({...chartSize(height), ...options}, rowsOf, byId(place));
  allCharts.push([chart, height]);
  return chart;
};
// A chart over the time of the run: shows what the timeline shows, and chooses it.
const addTimeChart = (place, height, options, rowsOf) => {
  const chart = addChart(place, height, {
    ...options,
    cursor: {drag: {x: true, y: false, setScale: false}},
    hooks: {setSelect: [self => {
      if (self.select.width < 2) return;
      zoomTo(self.posToVal(self.select.left, 'x'),
        self.posToVal(self.select.left + self.select.width, 'x'));
      self.setSelect({left: 0, width: 0, top: 0, height: 0}, false);
    }]},
  }, rowsOf);
  timeCharts.push(chart);
  chart.setScale('x', {min: view.begin, max: view.end});
};
const shortText = value => {
  for (const [size, unit] of [[1e12, ' T'], [1e9, ' G'], [1e6, ' M'], [1e3, ' k']]) {
    if (Math.abs(value) >= size) return parseFloat((value / size).toPrecision(4)) + unit;
  }
  return parseFloat(value.toPrecision(4)).toString();
};
const ofRun = source => isPair ? ' of ' + 'AB'[source] : '';

const chartOverTime = () => {
  const series = [timeSeries];
  sources.forEach((one, source) => {
    series.push({label: 'busy workers' + ofRun(source), scale: '%', spanGaps: true, width: 1,
      stroke: ['#4878b0', '#8d6bb8'][source], fill: ['#a9c3e255', '#8d6bb833'][source],
      value: (chart, part) => part == null ? '' : part.toFixed(1) + ' %'});
    series.push({label: 'ready tasks' + ofRun(source), scale: 'tasks', spanGaps: true, width: 1,
      stroke: kSourceColor[source], value: (chart, count) => count == null ? '' : count.toFixed(1)});
    series.push({label: 'tasks made, not ended' + ofRun(source), scale: 'tasks', spanGaps: true,
      width: 1, dash: [4, 3], stroke: kSourceColor[source],
      value: (chart, count) => count == null ? '' : count.toFixed(1)});
  });
  const rowsOf = sources.map(one => [
    one.utilization.map((_, i) => (i + .5) * one.duration / one.utilization.length),
    one.utilization.map(part => 100 * part), one.ready, one.made]);
  addTimeChart('over-time', 190, {
    scales: {x: {time: false}, '%': {range: [0, 100]},
      tasks: {range: (chart, least, most) => [0, Math.max(most, 1)]}},
    axes: [axisOf((chart, all) => all.map(tickText)),
      {...axisOf((chart, all) => all.map(part => part + ' %')), scale: '%'},
      {...axisOf(), scale: 'tasks', side: 1, grid: {show: false}}],
    series,
  }, rowsOf.length === 1 ? rowsOf[0] : uPlot.join(rowsOf));
};

// When the tasks of each iteration are made, and run.
const chartIterations = () => {
  const kFronts = [['made', 2, '#e08a3c'], ['begun', 3, '#4878b0'], ['ended', 4, '#55a05a']];
  const lines = sources.flatMap((one, source) => kFronts.map(([what, column, stroke]) => {
    const numbers = new Map();  // by time: the last one
    for (const row of one.iterations) {
      if (row[column] >= 0) numbers.set(row[column], Math.max(row[0], numbers.get(row[column]) || 0));
    }
    const times = [...numbers.keys()].sort((a, b) => a - b);
    return {label: what + ofRun(source), stroke, dash: source === 1 ? [5, 3] : undefined,
      rows: [times, times.map(time => numbers.get(time))]};
  })).filter(line => line.rows[0].length > 0);
  if (lines.length === 0) return;
  add(byId('iterations'), 'b', 'iterations');
  addTimeChart('iterations', 160, {
    scales: {x: {time: false}},
    axes: [axisOf((chart, all) => all.map(tickText)), {...axisOf(), size: 60}],
    series: [timeSeries, ...lines.map(({label, stroke, dash}) => ({label, stroke, dash,
      spanGaps: true, width: 1.5, points: {show: lines[0].rows[0].length < 200}}))],
  }, uPlot.join(lines.map(line => line.rows)));
  add(byId('iterations'), 'p', 'An iteration is made when its last task is (the submission front), begun ' +
    'when its first one starts, and ended with its last one.', {className: 'note'});
};

// Counters of the program, and of memory: a chart for each name, a line for each rank.
const chartCounters = () => {
  const byName = new Map();
  sources.forEach((one, source) => {
    for (const counter of one.counters) {
      if (!byName.has(counter.name)) byName.set(counter.name, []);
      byName.get(counter.name).push({label: `rank ${counter.rank}${ofRun(source)}`,
        rows: [Array.from(decode(counter.time, Float64Array)),
          Array.from(decode(counter.value, Float64Array))]});
    }
  });
  for (const [name, lines] of byName) {
    add(byId('counters'), 'b', name);
    addTimeChart('counters', 140, {
      scales: {x: {time: false}},
      axes: [axisOf((chart, all) => all.map(tickText)),
        {...axisOf((chart, all) => all.map(shortText)), size: 60}],
      series: [timeSeries, ...lines.map((line, i) => ({label: line.label, spanGaps: true, width: 1.5,
        stroke: palette[i % palette.length], paths: uPlot.paths.stepped({align: 1}),
        points: {show: line.rows[0].length < 50}}))],
    }, uPlot.join(lines.map(line => line.rows)));
  }
};

// Tasks of each duration, by powers of two: a line for each name.
const chartDurations = () => {
  const kNames = isPair ? 4 : 8;
  const lines = taskNames.slice(0, kNames).flatMap(name => sources.map((one, source) => ({
    name, source, counts: (one.statistics.find(row => row.name === name) || {}).histogram})));
  const used = lines.flatMap(line => (line.counts || []).map((count, i) => count > 0 ? i : -1))
    .filter(i => i >= 0);
  if (used.length === 0) return;
  const low = Math.max(Math.min(...used) - 1, 0), high = Math.max(...used) + 2;
  const buckets = Array.from({length: high - low + 1}, (_, i) => low + i);
  addChart('durations', 190, {
    scales: {x: {time: false}},
    axes: [{...axisOf((chart, all) => all.map(i => tickText(2 ** i))), incrs: [1, 2, 5, 10]},
      {...axisOf(), label: 'tasks', size: 60}],
    series: [{label: 'from', value: (chart, i) => i == null ? '' : tickText(2 ** i)},
      ...lines.map(line => ({label: line.name + ofRun(line.source), width: 1.5,
        stroke: colorByName.get(line.name), dash: line.source === 1 ? [5, 3] : undefined,
        fill: line.source === 1 ? undefined : colorByName.get(line.name) + '33',
        paths: uPlot.paths.stepped({align: 1}), points: {show: false}}))],
  }, [buckets, ...lines.map(line => buckets.map(i => line.counts ? line.counts[i] || 0 : 0))]);
};
window.addEventListener('resize', () => {
  for (const [chart, height] of allCharts) chart.setSize(chartSize(height));
});

// ---- messages between ranks -------------------------------------------------------------------
const drawMatrix = () => {
  const {size, ranks_of_cell: per, bytes, count} = data.matrix;
  const cell = Math.max(3, Math.min(24, Math.floor(480 / Math.max(size, 1))));
  const matrix = byId('matrix');
  const context = fit(matrix, 40 + size * cell, 20 + size * cell);
  const most = Math.max(...bytes, 1);
  context.font = '11px system-ui, sans-serif';
  for (let from = 0; from < size; ++from) {
    if (cell >= 12) {
      context.fillStyle = '#5a6675';
      context.fillText(from * per, 8, 20 + from * cell + cell / 2 + 4);
      context.fillText(from * per, 42 + from * cell, 14);
    }
    for (let to = 0; to < size; ++to) {
      const part = bytes[from * size + to] / most;
      context.fillStyle = part > 0 ? `hsl(212, 55%, ${92 - 62 * Math.sqrt(part)}%)` : '#f6f8fa';
      context.fillRect(40 + to * cell, 20 + from * cell, cell - 1, cell - 1);
    }
  }
  byId('matrix-note').textContent = size === 0 ? 'no messages were recorded' :
    `row: from, column: to${per > 1 ? `, ${per} ranks each` : ''}; darkest: ${bytesText(most)}`;
  matrix.addEventListener('pointermove', event => {
    const to = Math.floor((event.offsetX - 40) / cell), from = Math.floor((event.offsetY - 20) / cell);
    if (from < 0 || to < 0 || from >= size || to >= size) return;
    matrix.title = `rank ${from * per} to rank ${to * per}: ${count[from * size + to]} messages, ` +
      bytesText(bytes[from * size + to]);
  });
};

chartOverTime();
draw();
chartDurations();
chartIterations();
chartCounters();
if (!isPair) drawMatrix();
// For tests and for those who look from the console.
window.shoalReport = {firstPictureMs: performance.now(), drawTimes, view, zoomTo, findNext, hit,
  tipText, xOf, get found() { return found; }, segments, messages, marks, paths, tracks, timeCharts,
  needs, showHint, showSegment, colorByName,
  bounds: sources.flatMap(one => Object.values(one.bounds).filter(at => at > 0))};
})();
