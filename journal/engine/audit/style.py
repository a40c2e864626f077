"""How the page of an account looks: quiet, readable by day, by night and on paper."""

STYLE = """
:root {
  color-scheme: light dark;
  --paper: #faf9f6; --card: #ffffff; --ink: #1f2328; --soft: #5d6670; --line: #e4e1d9;
  --lane: #f0eee8; --accent: #2f6db3;
  --good: #2e8b57; --note: #b7791f; --bad: #c0392b;
  --c0: #a3abb5; --c1: #3b73b9; --c2: #2f9e8f; --c3: #dfa02b; --c4: #d4634a; --c5: #7d62ad;
  --c6: #6d9b4c; --c7: #c25e95;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171b; --card: #1b1f25; --ink: #e6e8eb; --soft: #98a2ae; --line: #2c323a;
    --lane: #242a31; --accent: #79aeea;
    --good: #5fc58d; --note: #e4b35a; --bad: #f08377;
    --c0: #737d89; --c1: #79a8e6; --c2: #5bc7b8; --c3: #efc15f; --c4: #ee8f78; --c5: #b39be0;
    --c6: #9cc97d; --c7: #e592c0;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
  -webkit-text-size-adjust: 100%;
}
main { max-width: 1080px; margin: 0 auto; padding: 48px 24px 64px; }
header { margin-bottom: 28px; }
.kicker {
  color: var(--accent); font-size: 12px; font-weight: 600; letter-spacing: .12em;
  text-transform: uppercase;
}
h1 { font-size: 30px; line-height: 1.2; margin: 6px 0 8px; overflow-wrap: anywhere; }
h2 { font-size: 17px; margin: 0 0 4px; }
h3 { font-size: 15px; margin: 22px 0 4px; }
p { margin: 0; }
.soft { color: var(--soft); }
.mono, code { font: 13px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
.mono { overflow-wrap: anywhere; }
.figures {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(135px, 1fr)); gap: 12px;
  margin: 24px 0;
}
.figure { background: var(--card); border: 1px solid var(--line); border-radius: 12px;
  padding: 14px 16px; }
.figure b { display: block; white-space: nowrap; font-size: 20px; font-weight: 650;
  line-height: 1.25;
  font-variant-numeric: tabular-nums; }
.figure span { color: var(--soft); font-size: 13px; }
section {
  background: var(--card); border: 1px solid var(--line); border-radius: 12px;
  padding: 20px 22px; margin: 16px 0;
}
section > p.soft { font-size: 13px; margin-bottom: 12px; }
section > p.more { margin: 10px 0 0; }
.wide { overflow-x: auto; }
svg { display: block; width: 100%; min-width: 640px; height: auto; }
svg text { font: 12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; fill: var(--soft);
  font-variant-numeric: tabular-nums; }
svg text.name { fill: var(--ink); font-size: 13px; }
.end { text-anchor: end; } .mid { text-anchor: middle; }
.grid { stroke: var(--line); fill: none; } .axis { stroke: var(--soft); opacity: .5; fill: none; }
.c0 { fill: var(--c0); } .c1 { fill: var(--c1); } .c2 { fill: var(--c2); } .c3 { fill: var(--c3); }
.c4 { fill: var(--c4); } .c5 { fill: var(--c5); } .c6 { fill: var(--c6); } .c7 { fill: var(--c7); }
.lane { fill: var(--lane); }
.gap { fill: var(--lane); opacity: .75; }
.over { fill: transparent; } .over:hover { fill: var(--ink); opacity: .07; }
.heat { fill: var(--accent); }
.h1 { opacity: .25; } .h2 { opacity: .42; } .h3 { opacity: .6; } .h4 { opacity: .8; }
.mark.good { fill: var(--good); } .mark.note { fill: var(--note); } .mark.bad { fill: var(--bad); }
.mark.small { fill: var(--c0); }
.stem { fill: none; stroke-dasharray: 2 3; opacity: .7; }
.stem.good { stroke: var(--good); } .stem.note { stroke: var(--note); }
.stem.bad { stroke: var(--bad); }
.legend { display: flex; flex-wrap: wrap; gap: 4px 18px; margin: 12px 0 0; padding: 0;
  list-style: none; font-size: 13px; color: var(--soft); }
.dot { display: inline-block; width: 10px; height: 10px; border-radius: 3px; margin-right: 7px; }
.dot.diamond { border-radius: 1px; transform: rotate(45deg) scale(.85); }
table { border-collapse: collapse; width: 100%; font-size: 13.5px; }
th { text-align: left; color: var(--soft); font-weight: 550; font-size: 12px;
  padding: 6px 14px 6px 0;
  border-bottom: 1px solid var(--line); white-space: nowrap; }
td { padding: 7px 14px 7px 0; border-bottom: 1px solid var(--line); vertical-align: top;
  font-variant-numeric: tabular-nums; }
tr:last-child td { border-bottom: 0; }
td.right, th.right { text-align: right; white-space: nowrap; }
td.time { white-space: nowrap; color: var(--soft); }
td.words { overflow-wrap: anywhere; min-width: 200px; } td.name { min-width: 178px; }
td.who { overflow-wrap: anywhere; min-width: 84px; }
td.long { overflow-wrap: anywhere; min-width: 260px; }
.bar { display: block; height: 6px; min-width: 60px; border-radius: 3px; background: var(--lane);
  margin-top: 7px; overflow: hidden; }
.bar i { display: block; height: 100%; border-radius: 3px; background: var(--accent); }
.tag { display: inline-block; border-radius: 999px; padding: 1px 9px; font-size: 12px;
  font-weight: 550; border: 1px solid currentColor; white-space: nowrap; }
.good { color: var(--good); } .note { color: var(--note); } .bad { color: var(--bad); }
.small { color: var(--soft); }
ul.plain { margin: 8px 0 0; padding-left: 18px; }
footer { color: var(--soft); font-size: 13px; margin-top: 28px; }
@media (max-width: 640px) {
  main { padding: 28px 14px 40px; } section { padding: 16px 14px; }
  /* A row is a few lines, each value behind its column's name. */
  table, tbody, tr { display: block; } tr:first-child { display: none; }
  tr { padding: 8px 0; border-bottom: 1px solid var(--line); }
  tr:last-child { border-bottom: 0; }
  td, td.right { display: block; padding: 1px 0; border: 0; text-align: left; }
  td.words, td.name, td.long, td.who { min-width: 0; }
  td:empty { display: none; }
  td[data-name]:not([data-name=""])::before { content: attr(data-name) ": "; color: var(--soft);
    font: 12px system-ui, sans-serif; }
}
@media print {
  :root { --paper: #fff; --card: #fff; --ink: #000; --soft: #444; --line: #ccc; }
  main { max-width: none; padding: 0; } section { break-inside: avoid; }
}
"""
