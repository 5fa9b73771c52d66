// The form runtime: evaluates triggers and shows forms inside a web view of the app.
//
// One file, no framework, no build step; the same in WKWebView and in Chromium. docs/forms.md has the catalogue and the bridge.
// Four parts, each of which knows only those above it: the catalogue, the bridge, the form on the screen, the runtime.
'use strict';

(() => {
  // --- Limits: docs/limits/forms.md.

  const limits = Object.freeze({
    catalogueBytes: 1_048_576,
    forms: 2_000,
    predicateDepth: 16,
    predicateNodes: 256,
    triggers: 32,
    fields: 20,
    options: 100,
    choices: 256,
    past: 8,
    urlLength: 2_048,
    pathLength: 256,
    buttons: 8,
    actions: 8,
    textLength: 4_000,
    propertiesBytes: 65_536,
    delay: 86_400,
    heldDelay: 5_000,
    capCount: 1_000,
    capSeconds: 31_622_400,
    priority: 1_000_000,
    pageMessageBytes: 65_536,
    submitBytes: 262_144,
    hostMessageBytes: 4_194_304,
    waitingMessages: 1_024,
    eventsInHand: 1_024,
    waitingForScreen: 16,
    outcomesInMessage: 256,
    logsInSecond: 10,
    logCharacters: 1_000,
  });

  const byteCount = (text) => new TextEncoder().encode(text).length;
  const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
  const isScalar = (value) => ['string', 'number', 'boolean'].includes(typeof value);
  const own = (object, name) => (Object.hasOwn(object, name) ? object[name] : undefined);

  // --- The catalogue: from JSON that may be hostile to forms that are ready to be asked.

  // Why a catalogue is not taken, and where: a JSON pointer.
  class Refusal extends Error {
    constructor(pointer, reason) {
      super(reason);
      this.pointer = pointer;
    }
  }

  // A value with its place, so that what is wrong can be named.
  class Place {
    constructor(value, pointer) {
      this.value = value;
      this.pointer = pointer;
    }

    refuse(reason) {
      throw new Refusal(this.pointer, reason);
    }

    // An object; of members that nobody knows one is a slip of the pen, and no other may be guessed from it.
    object(known) {
      if (!isObject(this.value)) this.refuse('must be an object');
      const unknown = known && Object.keys(this.value).find((name) => !known.includes(name));
      if (unknown !== undefined) this.at(unknown).refuse('is a member that nobody knows');
      return this;
    }

    has(name) {
      return Object.hasOwn(this.value, name);
    }

    at(name) {
      const token = String(name).replaceAll('~', '~0').replaceAll('/', '~1');
      return new Place(own(this.value, name), `${this.pointer}/${token}`);
    }

    required(name) {
      return this.has(name) ? this.at(name) : this.refuse(`needs the member “${name}”`);
    }

    items(most, least = 0) {
      if (!Array.isArray(this.value)) this.refuse('must be an array');
      if (this.value.length > most) this.refuse(`has more than ${most} elements`);
      if (this.value.length < least) this.refuse(`needs at least ${least} element`);
      return this.value.map((_, index) => this.at(index));
    }

    text(most = limits.textLength, least = 0) {
      if (typeof this.value !== 'string') this.refuse('must be a string');
      // A character is a code point, of which a string has at least half as many as units.
      if (this.value.length > 2 * most || [...this.value].length > most) {
        this.refuse(`has more than ${most} characters`);
      }
      if (this.value.length < least) this.refuse('must not be empty');
      return this.value;
    }

    matching(pattern, reason) {
      if (typeof this.value !== 'string' || !pattern.test(this.value)) this.refuse(reason);
      return this.value;
    }

    number(least = -Infinity, most = Infinity) {
      if (typeof this.value !== 'number') this.refuse('must be a number');
      if (this.value < least || this.value > most) this.refuse(`must be from ${least} to ${most}`);
      return this.value;
    }

    integer(least, most) {
      if (!Number.isInteger(this.number(least, most))) this.refuse('must be a whole number');
      return this.value;
    }

    oneOf(values) {
      return values.includes(this.value)
        ? this.value
        : this.refuse(`must be one of ${values.join(', ')}`);
    }

    optional(name, read, otherwise) {
      return this.has(name) ? read(this.at(name)) : otherwise;
    }
  }

  const identifier = (place) =>
    place.matching(/^[A-Za-z0-9._-]{1,64}$/, 'must be 1 to 64 of A–Z a–z 0–9 . _ -');
  const eventName = (place) =>
    place.matching(/^[A-Za-z0-9._-]{1,56}$/, 'must be 1 to 56 of A–Z a–z 0–9 . _ -');

  // Strings compare by code points; JavaScript's `<` compares UTF-16 units, which is another order.
  const compareText = (left, right) => {
    const [a, b] = [left[Symbol.iterator](), right[Symbol.iterator]()];
    for (;;) {
      const [x, y] = [a.next(), b.next()];
      if (x.done || y.done) return (x.done ? 0 : 1) - (y.done ? 0 : 1);
      if (x.value !== y.value) return x.value.codePointAt(0) - y.value.codePointAt(0);
    }
  };

  // An order of two numbers or two strings; of anything else there is none.
  const ordered = (decide) => (value) => (found) =>
    typeof found === typeof value &&
    typeof found !== 'boolean' &&
    decide(typeof found === 'string' ? compareText(found, value) : found - value);
  const onText = (decide) => (value) => (found) => typeof found === 'string' && decide(found, value);

  const operators = {
    equals: (value) => (found) => found === value,
    notEquals: (value) => (found) => found !== value,
    lessThan: ordered((order) => order < 0),
    atMost: ordered((order) => order <= 0),
    greaterThan: ordered((order) => order > 0),
    atLeast: ordered((order) => order >= 0),
    exists: () => (found) => found !== undefined,
    missing: () => (found) => found === undefined,
    contains: (value) => (found) =>
      Array.isArray(found)
        ? found.includes(value)
        : typeof found === 'string' && typeof value === 'string' && found.includes(value),
    startsWith: onText((found, value) => found.startsWith(value)),
    endsWith: onText((found, value) => found.endsWith(value)),
    in: (values) => (found) => values.includes(found),
  };

  const operand = (operator, node) => {
    if (operator === 'exists' || operator === 'missing') return undefined;
    const place = node.required('value');
    if (operator === 'in') {
      return place.items(limits.choices, 1).map((item) => {
        if (!isScalar(item.value)) item.refuse('must be a string, a number, true or false');
        return item.value;
      });
    }
    if (operator === 'startsWith' || operator === 'endsWith') return place.text();
    if (!isScalar(place.value)) place.refuse('must be a string, a number, true or false');
    if (typeof place.value === 'string') place.text();
    const isOrder = ['lessThan', 'atMost', 'greaterThan', 'atLeast'].includes(operator);
    if (isOrder && typeof place.value === 'boolean') place.refuse('has no order');
    return place.value;
  };

  // A path leads through objects alone, and never to what an object has by nature.
  const reader = (path) => {
    const names = path.split('.');
    return (properties) => {
      let value = properties;
      for (const name of names) {
        if (!isObject(value) || !Object.hasOwn(value, name)) return undefined;
        value = value[name];
      }
      return value;
    };
  };

  // Makes functions of predicates. How deep and how large one is counts what it uses as if it stood there:
  // so neither a cycle nor a doubling of doublings is ever walked.
  class Predicates {
    constructor(named) {
      this.named = named; // a place, or undefined
      this.compiled = new Map();
      this.open = new Set(); // the names whose predicates are being compiled, each within the one before
    }

    whole(place) {
      const predicate = this.compile(place, 1);
      if (predicate.height > limits.predicateDepth) {
        place.refuse(`is deeper than ${limits.predicateDepth}, with what it uses`);
      }
      if (predicate.nodes > limits.predicateNodes) {
        place.refuse(`has more than ${limits.predicateNodes} nodes, with what it uses`);
      }
      return predicate;
    }

    compile(place, depth) {
      if (depth > limits.predicateDepth) {
        place.refuse(`is deeper than ${limits.predicateDepth}`);
      }
      place.object();
      const kinds = ['and', 'or', 'not', 'use', 'property'].filter((kind) => place.has(kind));
      if (kinds.length !== 1) place.refuse('needs one of and, or, not, use, property');
      if (kinds[0] !== 'property') place.object(kinds);
      return this[kinds[0]](place, depth);
    }

    several(place, depth) {
      const parts = place
        .items(limits.predicateNodes, 1)
        .map((part) => this.compile(part, depth + 1));
      const nodes = 1 + parts.reduce((sum, part) => sum + part.nodes, 0);
      const height = 1 + Math.max(...parts.map((part) => part.height));
      return { tests: parts.map((part) => part.test), nodes, height };
    }

    and(place, depth) {
      const { tests, nodes, height } = this.several(place.at('and'), depth);
      return { test: (properties) => tests.every((test) => test(properties)), nodes, height };
    }

    or(place, depth) {
      const { tests, nodes, height } = this.several(place.at('or'), depth);
      return { test: (properties) => tests.some((test) => test(properties)), nodes, height };
    }

    not(place, depth) {
      const { test, nodes, height } = this.compile(place.at('not'), depth + 1);
      return { test: (properties) => !test(properties), nodes: nodes + 1, height: height + 1 };
    }

    use(place) {
      const name = place.at('use');
      identifier(name);
      if (!this.named?.has(name.value)) name.refuse('names a predicate that is not there');
      const { test, nodes, height } = this.byName(name.value);
      return { test, nodes: nodes + 1, height: height + 1 };
    }

    byName(name) {
      const known = this.compiled.get(name);
      if (known) return known;
      const place = this.named.at(name);
      if (this.open.has(name)) place.refuse('uses itself');
      if (this.open.size >= limits.predicateDepth) {
        place.refuse(`is used deeper than ${limits.predicateDepth}`);
      }
      this.open.add(name);
      const predicate = this.compile(place, 1);
      this.open.delete(name);
      if (predicate.height > limits.predicateDepth) {
        place.refuse(`is deeper than ${limits.predicateDepth}, with what it uses`);
      }
      this.compiled.set(name, predicate);
      return predicate;
    }

    property(place) {
      const path = place.at('property').text(limits.pathLength, 1);
      if (path.split('.').includes('')) place.at('property').refuse('has an empty name');
      const operator = place.required('is').oneOf(Object.keys(operators));
      const hasValue = operator !== 'exists' && operator !== 'missing';
      place.object(hasValue ? ['property', 'is', 'value'] : ['property', 'is']);
      const read = reader(path);
      const holds = operators[operator](operand(operator, place));
      // Nothing but these two is true of what is not there.
      const ofNothing = operator === 'missing' || operator === 'notEquals';
      const test = (properties) => {
        const found = read(properties);
        return found === undefined ? ofNothing : holds(found);
      };
      return { test, nodes: 1, height: 1 };
    }
  }

  const readFrequency = (place) => {
    place.object(['max', 'seconds']);
    place.required('max').integer(1, limits.capCount);
    place.required('seconds').integer(1, limits.capSeconds);
  };

  const readWindow = (place) => {
    place.object(['from', 'until']);
    const moment = (at) => at.integer(0, Number.MAX_SAFE_INTEGER);
    const from = place.optional('from', moment, -Infinity);
    const until = place.optional('until', moment, Infinity);
    if (until <= from) place.refuse('is never open');
    return { from, until };
  };

  // Audience, past and quiet time are the host's to decide: it knows the person, the counts and the clock.
  const readTime = (place) =>
    place.matching(/^([01][0-9]|2[0-3]):[0-5][0-9]$/, 'must be a time of day such as 22:00');
  const readQuiet = (place) => {
    place.object(['from', 'until']);
    const from = readTime(place.required('from'));
    if (readTime(place.required('until')) === from) place.refuse('has no length');
  };
  const readPast = (place) => {
    place.object();
    const subjects = ['form', 'event'].filter((name) => place.has(name));
    if (subjects.length !== 1) place.refuse('needs one of form, event');
    const own = { form: ['form', 'was'], event: ['event'] }[subjects[0]];
    const bounds = ['atLeast', 'atMost', 'within', 'notWithin'];
    place.object([...own, ...bounds]);
    place.optional('form', identifier);
    place.optional('event', eventName);
    if (subjects[0] === 'form') place.required('was').oneOf(['shown', 'submitted', 'dismissed']);
    if (!bounds.some((name) => place.has(name))) place.refuse(`needs one of ${bounds.join(', ')}`);
    const count = (at) => at.integer(0, limits.capCount);
    const least = place.optional('atLeast', count, 0);
    if (place.optional('atMost', count, Infinity) < least) place.refuse('is never true');
    place.optional('within', (at) => at.integer(1, limits.capSeconds));
    place.optional('notWithin', (at) => at.integer(1, limits.capSeconds));
  };

  // No space and no control character, which browsers drop and other readers do not.
  const isPlain = (url) => !/[\u0000-\u0020\u007f]/.test(url);
  const readImage = (place) => {
    place.object(['url', 'alt']);
    const url = place.required('url');
    const isInline = /^data:image\/[a-z0-9+.-]+;base64,[A-Za-z0-9+/]+={0,2}$/.test(url.value);
    if (!isInline) url.text(limits.urlLength, 1);
    if (!isInline && !(/^https:\/\/[^/?#]/.test(url.value) && isPlain(url.value))) {
      url.refuse('must begin with https:// or data:image/TYPE;base64,');
    }
    return { url: url.value, alt: place.required('alt').text() };
  };

  // Which settings a type has beside those of all fields.
  const fieldSettings = {
    email: ['maximumLength'],
    text: ['maximumLength'],
    multiline: ['maximumLength'],
    number: ['minimum', 'maximum'],
    choice: ['options'],
    choices: ['options'],
    checkbox: [],
    date: [],
  };
  const readField = (place) => {
    place.object();
    const settings = fieldSettings[place.required('type').oneOf(Object.keys(fieldSettings))];
    place.object(['name', 'label', 'type', 'required', 'hint', ...settings]);
    const field = {
      name: identifier(place.required('name')),
      label: place.required('label').text(limits.textLength, 1),
      type: place.value.type,
      isRequired: place.optional('required', (at) => at.oneOf([true, false]), false),
      minimum: place.optional('minimum', (at) => at.number(), -Infinity),
      maximum: place.optional('maximum', (at) => at.number(), Infinity),
      maximumLength: place.optional(
        'maximumLength', (at) => at.integer(1, limits.textLength), limits.textLength),
      hint: place.optional('hint', (at) => at.text(), ''),
      options: [],
    };
    if (field.minimum > field.maximum) place.refuse('has a “minimum” above its “maximum”');
    if (settings.includes('options')) {
      field.options = place.required('options').items(limits.options, 1).map((option) => {
        option.object(['value', 'label']);
        return {
          value: option.required('value').text(limits.textLength, 1),
          label: option.required('label').text(limits.textLength, 1),
        };
      });
      unique(place.at('options'), field.options.map((option) => option.value), 'value');
    }
    return field;
  };

  const unique = (place, values, member) => {
    const seen = new Set();
    values.forEach((value, index) => {
      if (seen.has(value)) place.at(index).at(member).refuse('is there twice');
      seen.add(value);
    });
  };

  const forbiddenSchemes = ['javascript', 'data', 'vbscript', 'file', 'blob'];
  const readAction = (place) => {
    place.object();
    const type = place.required('type').oneOf(['submit', 'dismiss', 'deepLink', 'emit']);
    const own = { deepLink: ['url'], emit: ['name', 'properties'] }[type] ?? [];
    place.object(['type', ...own]);
    if (type === 'deepLink') {
      const url = place.required('url');
      const scheme = /^([a-z][a-z0-9+.-]*):./.exec(url.text(limits.urlLength, 1))?.[1];
      if (!scheme || !isPlain(url.value)) {
        url.refuse('must begin with a scheme in small letters and a colon');
      }
      if (forbiddenSchemes.includes(scheme)) url.refuse(`must not have the scheme ${scheme}`);
      return { type, url: url.value };
    }
    if (type === 'emit') {
      const name = eventName(place.required('name'));
      const properties = place.optional('properties', (at) => at.object().value, {});
      if (byteCount(JSON.stringify(properties)) > limits.propertiesBytes) {
        place.at('properties').refuse(`has more than ${limits.propertiesBytes} bytes`);
      }
      return { type, name, properties };
    }
    return { type };
  };

  const readButton = (place) => {
    place.object(['label', 'style', 'actions']);
    return {
      label: place.required('label').text(limits.textLength, 1),
      style: place.optional('style', (at) => at.oneOf(['primary', 'plain']), 'plain'),
      actions: place.required('actions').items(limits.actions, 1).map(readAction),
    };
  };

  const readTrigger = (place, predicates) => {
    place.object(['event', 'where', 'delay']);
    const isTrue = { test: () => true };
    return {
      event: eventName(place.required('event')),
      test: place.optional('where', (at) => predicates.whole(at), isTrue).test,
      delay: 1_000 * place.optional('delay', (at) => at.integer(0, limits.delay), 0),
    };
  };

  const formMembers = [
    'id', 'priority', 'triggers', 'audience', 'past', 'quiet', 'window', 'frequency', 'title', 'text',
    'image', 'fields', 'buttons',
  ];
  const readForm = (place, predicates) => {
    place.object(formMembers);
    const form = {
      id: identifier(place.required('id')),
      priority: place.optional('priority', (at) => at.integer(-limits.priority, limits.priority), 0),
      triggers: place
        .required('triggers')
        .items(limits.triggers, 1)
        .map((trigger) => readTrigger(trigger, predicates)),
      window: place.optional('window', readWindow, { from: -Infinity, until: Infinity }),
      title: place.required('title').text(limits.textLength, 1),
      text: place.optional('text', (at) => at.text(), ''),
      image: place.optional('image', readImage, null),
      fields: place.optional('fields', (at) => at.items(limits.fields).map(readField), []),
      buttons: place.optional('buttons', (at) => at.items(limits.buttons).map(readButton), []),
    };
    place.optional('frequency', readFrequency); // the host counts
    place.optional('audience', (at) => predicates.whole(at));
    place.optional('past', (at) => at.items(limits.past).map(readPast));
    place.optional('quiet', readQuiet);
    unique(place.at('fields'), form.fields.map((field) => field.name), 'name');
    return form;
  };

  // Reads a catalogue; what it throws, whatever was sent, is a Refusal.
  const readCatalogue = (value) => {
    try {
      const place = new Place(value, '');
      place.object();
      place.required('format').oneOf(['forms/1']);
      place.object(['$schema', 'format', 'version', 'frequency', 'quiet', 'predicates', 'forms']);
      if (byteCount(JSON.stringify(value)) > limits.catalogueBytes) {
        place.refuse(`has more than ${limits.catalogueBytes} bytes`);
      }
      const version = identifier(place.required('version'));
      place.optional('frequency', readFrequency);
      place.optional('quiet', readQuiet);
      const predicates = new Predicates(place.optional('predicates', (at) => at.object()));
      for (const name of Object.keys(predicates.named?.value ?? {})) {
        const named = predicates.named.at(name);
        identifier(new Place(name, named.pointer));
        predicates.byName(name);
      }
      const forms = place
        .required('forms')
        .items(limits.forms)
        .map((form) => readForm(form, predicates));
      unique(place.at('forms'), forms.map((form) => form.id), 'id');
      return { version, byEvent: index(forms) };
    } catch (error) {
      if (error instanceof Refusal) throw error;
      throw new Refusal('', 'is too deep to be read'); // JSON.stringify has its own bound
    }
  };

  // By event name, what asks first standing first: priority, then the catalogue's order (the sort is stable).
  const index = (forms) => {
    const byEvent = new Map();
    for (const form of forms) {
      for (const trigger of form.triggers) {
        if (!byEvent.has(trigger.event)) byEvent.set(trigger.event, []);
        byEvent.get(trigger.event).push({ form, trigger });
      }
    }
    for (const candidates of byEvent.values()) {
      candidates.sort((left, right) => right.form.priority - left.form.priority);
    }
    return byEvent;
  };

  // --- The bridge: numbered messages to the host.

  class Bridge {
    constructor(session) {
      this.session = session;
      this.n = 0;
      this.logs = 0;
      this.port = window.webkit?.messageHandlers?.reprise;
    }

    // Sends a message, and says whether it was small enough to be sent.
    say(type, members = {}, most = limits.pageMessageBytes) {
      const text = JSON.stringify({ type, session: this.session, n: this.n + 1, ...members });
      if (text.length > most || byteCount(text) > most) return false;
      this.n += 1;
      this.port?.postMessage(text);
      return true;
    }

    log(level, text) {
      if (this.logs >= limits.logsInSecond) return;
      if (this.logs === 0) setTimeout(() => (this.logs = 0), 1_000);
      this.logs += 1;
      this.say('log', { level, text: String(text).slice(0, limits.logCharacters) });
    }
  }

  const randomID = () =>
    Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
      byte.toString(16).padStart(2, '0'),
    ).join('');

  // --- The form on the screen.

  // What the runtime itself says; everything else is the catalogue's.
  const words = {
    en: {
      close: 'Close',
      optional: 'optional',
      choose: 'Choose…',
      required: 'Please answer this.',
      email: 'Please enter an e-mail address, like ada@example.org.',
      number: 'Please enter a number.',
      date: 'Please enter a date.',
      minimum: 'Please enter at least {0}.',
      maximum: 'Please enter at most {0}.',
      length: 'Please use at most {0} characters.',
      sending: 'Sending…',
      failed: 'That did not work. Please try again.',
      tooLong: 'Your answers are too long to be sent.',
    },
    de: {
      close: 'Schließen',
      optional: 'freiwillig',
      choose: 'Bitte wählen…',
      required: 'Bitte beantworten.',
      email: 'Bitte eine E-Mail-Adresse eingeben, etwa ada@example.org.',
      number: 'Bitte eine Zahl eingeben.',
      date: 'Bitte ein Datum eingeben.',
      minimum: 'Bitte mindestens {0} eingeben.',
      maximum: 'Bitte höchstens {0} eingeben.',
      length: 'Bitte höchstens {0} Zeichen.',
      sending: 'Wird gesendet…',
      failed: 'Das hat nicht geklappt. Bitte noch einmal versuchen.',
      tooLong: 'Die Antworten sind zu lang.',
    },
  };

  // A theme's colours replace these one by one; FormsTheme.swift has the same.
  const palettes = {
    light: {
      paper: '#ffffff', ink: '#16181d', soft: '#5a616d', edge: '#868d99', wash: '#eef0f4',
      accent: '#2850c8', onAccent: '#ffffff', danger: '#b3261e',
    },
    dark: {
      paper: '#1d1f24', ink: '#f2f3f6', soft: '#adb4c0', edge: '#7d8591', wash: '#2b2e35',
      accent: '#9db8ff', onAccent: '#0a1636', danger: '#ffb0a8',
    },
  };
  const appearances = ['system', 'light', 'dark'];

  // The host's theme, checked again: nothing of it may become another rule of the style.
  const readTheme = (value) => {
    const place = new Place(value, '').object(['appearance', 'corner', 'fontScale', 'light', 'dark']);
    const colour = (at) => at.matching(/^#[0-9a-f]{6}$/, 'must be a colour such as #2850c8');
    const palette = (at) => {
      at.object(Object.keys(palettes.light));
      Object.keys(at.value).forEach((name) => colour(at.at(name)));
      return at.value;
    };
    return {
      appearance: place.optional('appearance', (at) => at.oneOf(appearances), 'system'),
      corner: place.optional('corner', (at) => `${at.number(0, 40)}px`, '1.25em'),
      fontScale: place.optional('fontScale', (at) => at.number(0.5, 3), 1),
      light: { ...palettes.light, ...place.optional('light', palette, {}) },
      dark: { ...palettes.dark, ...place.optional('dark', palette, {}) },
    };
  };

  const themeStyle = ({ appearance, corner, fontScale, light, dark }) => {
    const scheme = (name, palette) => {
      const colours = Object.entries(palette).map(
        ([colour, value]) => `--${colour.replace('A', '-a')}: ${value};`);
      return `dialog { ${colours.join(' ')} color-scheme: ${name}; }`;
    };
    const base = appearance === 'dark' ? scheme('dark', dark) : scheme('light', light);
    const other = `@media (prefers-color-scheme: dark) { ${scheme('dark', dark)} }`;
    return `dialog { --corner: ${corner}; --scale: ${fontScale}; } ${base}
      ${appearance === 'system' ? other : ''}`;
  };

  const style = `
    :host { all: initial !important; }
    @supports (font: -apple-system-body) { :host { font: -apple-system-body !important; } }
    dialog {
      box-sizing: border-box; position: fixed; inset: auto 0 0 0; margin: 0 auto;
      inline-size: 100%; max-inline-size: 30em; max-block-size: calc(100dvh - 2.5em);
      padding: 0 0 env(safe-area-inset-bottom); border: 0;
      border-radius: var(--corner) var(--corner) 0 0;
      overflow: hidden auto; overscroll-behavior: contain; outline: none;
      background: var(--paper); color: var(--ink);
      font: calc(1em * var(--scale))/1.45 system-ui, -apple-system, sans-serif; overflow-wrap: anywhere;
      -webkit-text-size-adjust: 100%;
      box-shadow: 0 0 0 1px rgb(0 0 0 / 0.06), 0 1em 3em rgb(0 0 0 / 0.28);
    }
    @media (min-width: 34em) and (min-height: 30em) {
      dialog { inset: 0; margin: auto; block-size: fit-content; border-radius: var(--corner); }
    }
    dialog::backdrop { background: rgb(12 14 20 / 0.45); }
    @media (prefers-reduced-motion: no-preference) {
      dialog[open] { animation: rise 0.22s cubic-bezier(0.2, 0.8, 0.2, 1); }
      @keyframes rise { from { opacity: 0; transform: translateY(1.5em); } }
    }
    *, *::before { box-sizing: border-box; }
    .bar { position: sticky; inset-block-start: 0; z-index: 1; block-size: 0; display: flex;
      justify-content: flex-end; }
    .close { position: relative; flex: none; inline-size: 2.75em; block-size: 2.75em; margin: 0.625em;
      border-radius: 50%; background: var(--wash); color: var(--ink); }
    .close::before, .close::after { content: ''; position: absolute; inset: 0; margin: auto;
      inline-size: 1em; block-size: 2px; border-radius: 1px; background: currentColor;
      transform: rotate(45deg); }
    .close::after { transform: rotate(-45deg); }
    .picture { display: block; inline-size: 100%; max-block-size: 16em; object-fit: cover;
      background: var(--wash); }
    p.picture { display: grid; place-content: center; min-block-size: 6em; padding: 1.5em 4em;
      color: var(--soft); text-align: center; }
    .body { display: grid; gap: 1.25em; padding: 1.5em; }
    h1 { margin: 0; font-size: 1.4em; font-weight: 700; line-height: 1.25; letter-spacing: -0.01em;
      text-wrap: balance; }
    .bar + .body h1 { padding-inline-end: 2.25em; }
    p { margin: 0; }
    .text { white-space: pre-line; color: var(--ink); }
    h1 + .text { margin-block-start: -0.75em; }
    fieldset { min-inline-size: 0; margin: 0; padding: 0; border: 0; }
    .field { display: grid; gap: 0.375em; min-inline-size: 0; }
    .label, legend { padding: 0; font-weight: 600; }
    legend { margin-block-end: 0.375em; }
    .optional { color: var(--soft); font-size: 0.875em; font-weight: 400; }
    .hint { color: var(--soft); font-size: 0.875em; }
    .error { color: var(--danger); font-size: 0.875em; font-weight: 600; }
    .error:empty { display: none; }
    input, select, textarea, button { font: inherit; color: inherit; letter-spacing: inherit; }
    .control { inline-size: 100%; min-inline-size: 0; min-block-size: 3em; margin: 0;
      padding: 0.625em 0.875em; border: 1px solid var(--edge); border-radius: min(0.75em, var(--corner));
      background: var(--paper); }
    textarea.control { display: block; min-block-size: 6.5em; resize: vertical; }
    [aria-invalid='true'] { border-color: var(--danger); box-shadow: inset 0 0 0 1px var(--danger); }
    .option { display: flex; gap: 0.75em; align-items: center; min-block-size: 2.75em;
      padding: 0.375em 0; cursor: pointer; }
    .option input { flex: none; inline-size: 1.375em; block-size: 1.375em; margin: 0;
      accent-color: var(--accent); box-shadow: none; }
    .option span { min-inline-size: 0; }
    .status { color: var(--danger); font-weight: 600; }
    .status.quiet { color: var(--soft); font-weight: 400; }
    .status.spoken { position: absolute; inline-size: 1px; block-size: 1px; overflow: hidden;
      clip-path: inset(50%); white-space: nowrap; }
    .status:empty { display: none; }
    .buttons { display: grid; gap: 0.625em; }
    button { margin: 0; padding: 0.75em 1.25em; border: 0; border-radius: min(0.875em, var(--corner)); cursor: pointer;
      background: none; -webkit-tap-highlight-color: transparent; }
    .buttons button { min-block-size: 3.125em; font-weight: 600; }
    .primary { background: var(--accent); color: var(--on-accent); }
    .plain { background: var(--wash); }
    button[aria-disabled='true'] { opacity: 0.55; cursor: default; }
    :focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
    dialog:focus-visible { outline: none; }
    @media (forced-colors: active) { button, .control { border: 1px solid; } }
  `;

  // An element with properties and children; what is a string becomes text and nothing else.
  const make = (tag, properties = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (name.includes('-') || name === 'role' || name === 'for') element.setAttribute(name, value);
      else element[name] = value;
    }
    element.append(...children.filter((child) => child !== null));
    return element;
  };

  // `dir=auto` looks past children that have a direction of their own, and here all have: so the title decides.
  const directionOf = (text) => {
    const strong = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]|\p{L}/u;
    const first = strong.exec(text)?.[0] ?? '';
    return /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u.test(first)
      ? 'rtl'
      : 'ltr';
  };

  // One field: its elements, what is in it, and what is wrong with that.
  class FieldView {
    constructor(field, number, say) {
      this.field = field;
      this.say = say;
      this.id = `field${number}`;
      this.error = make('p', { id: `${this.id}-error`, className: 'error', dir: 'auto' });
      this.inputs = [];
      this.element = this.build();
      for (const input of this.inputs) {
        input.addEventListener('input', () => this.error.textContent && this.check());
      }
    }

    build() {
      const { field, id, say } = this;
      const hint =
        field.hint && make('p', { id: `${id}-hint`, className: 'hint', dir: 'auto' }, field.hint);
      const optional =
        field.isRequired || field.type === 'checkbox'
          ? null
          : make('span', { className: 'optional' }, ` ${say('optional')}`);
      const described = `${hint ? `${id}-hint ` : ''}${id}-error`;
      if (field.type === 'checkbox') {
        const input = this.input({ type: 'checkbox', id, 'aria-describedby': described });
        if (field.isRequired) input.setAttribute('aria-required', 'true');
        const label = make('label', { className: 'option' }, input, this.text(field.label));
        return make('div', { className: 'field' }, label, hint || null, this.error);
      }
      if (field.type === 'choices' || (field.type === 'choice' && field.options.length <= 6)) {
        return this.group(make('legend', { id: `${id}-label` }, this.text(field.label), optional), hint, described);
      }
      const label = make('label', { className: 'label', for: id }, this.text(field.label), optional);
      const control = this.control(described);
      return make('div', { className: 'field' }, label, hint || null, control, this.error);
    }

    text(text) {
      return make('span', { dir: 'auto' }, text);
    }

    input(properties) {
      const input = make('input', properties);
      this.inputs.push(input);
      return input;
    }

    group(legend, hint, described) {
      const { field, id } = this;
      const isOne = field.type === 'choice';
      const options = field.options.map((option) =>
        make(
          'label',
          { className: 'option' },
          this.input({ type: isOne ? 'radio' : 'checkbox', name: id, value: option.value }),
          this.text(option.label),
        ),
      );
      const group = make('fieldset', { 'aria-describedby': described }, legend, hint || null, ...options, this.error);
      if (isOne) {
        group.setAttribute('role', 'radiogroup');
        group.setAttribute('aria-labelledby', legend.id);
        if (field.isRequired) group.setAttribute('aria-required', 'true');
      }
      return group;
    }

    control(described) {
      const { field, id } = this;
      const properties = { id, className: 'control', 'aria-describedby': described };
      if (field.isRequired) properties['aria-required'] = 'true';
      if (field.type === 'choice') {
        const options = field.options.map((option) =>
          make('option', { value: option.value }, option.label),
        );
        const none = make('option', { value: '', selected: true }, this.say('choose'));
        const select = make('select', properties, none, ...options);
        this.inputs.push(select);
        return select;
      }
      if (field.type === 'multiline') {
        const area = make('textarea', { ...properties, rows: 4, dir: 'auto' });
        this.inputs.push(area);
        return area;
      }
      const types = { email: 'email', number: 'number', date: 'date' };
      Object.assign(properties, { type: types[field.type] ?? 'text', dir: 'auto' });
      if (field.type === 'number') Object.assign(properties, { step: 'any', inputMode: 'decimal' });
      if (field.type === 'email') {
        Object.assign(properties, { autocomplete: 'email', autocapitalize: 'off', spellcheck: false });
      }
      return this.input(properties);
    }

    // The answer as it is sent; undefined where nothing was answered.
    get answer() {
      const [input] = this.inputs;
      switch (this.field.type) {
        case 'checkbox':
          return input.checked;
        case 'choices': {
          const chosen = this.inputs.filter((each) => each.checked).map((each) => each.value);
          return chosen.length > 0 ? chosen : undefined;
        }
        case 'choice':
          if (input.type !== 'radio') return input.value || undefined;
          return this.inputs.find((each) => each.checked)?.value;
        case 'number':
          return input.value === '' ? undefined : Number(input.value);
        case 'email':
        case 'text':
          return input.value.trim() || undefined;
        default:
          return input.value || undefined;
      }
    }

    // The browser judges what is an address, a number, a date; it says so in our words.
    problem() {
      const { field, answer, say } = this;
      const { badInput, typeMismatch } = this.inputs[0].validity;
      if (badInput || typeMismatch) return say(own(words.en, field.type) ? field.type : 'required');
      if (answer === undefined || answer === false) return field.isRequired ? say('required') : '';
      if (field.type === 'number') {
        if (answer < field.minimum) return say('minimum', field.minimum);
        if (answer > field.maximum) return say('maximum', field.maximum);
      }
      const isText = typeof answer === 'string' && field.type !== 'choice';
      if (isText && [...answer].length > field.maximumLength) return say('length', field.maximumLength);
      return '';
    }

    check() {
      const problem = this.problem();
      this.error.textContent = problem;
      for (const input of this.inputs) {
        if (problem) input.setAttribute('aria-invalid', 'true');
        else input.removeAttribute('aria-invalid');
      }
      return problem;
    }
  }

  // A form on the screen, in a shadow that no style and no script of the page reaches.
  class FormView {
    // `perform(action, answers)` answers with nothing, or with what went wrong; `dismissed(how)` is called once.
    constructor(form, { locale, theme }, { perform, dismissed }) {
      this.form = form;
      this.locale = locale;
      this.theme = theme;
      this.perform = perform;
      this.dismissed = dismissed;
      this.isBusy = false;
      this.isGone = false;
      this.recorded = new Set(); // actions of buttons whose other actions are not
      const language = locale.split('-')[0].toLowerCase();
      const said = own(words, language) ?? words.en;
      this.language = said === words.en ? 'en' : language;
      this.say = (name, value) =>
        said[name].replace('{0}', value === undefined ? '' : this.number(value));
      this.build();
    }

    number(value) {
      try {
        return value.toLocaleString(this.locale, { maximumSignificantDigits: 15 });
      } catch {
        return String(value); // a locale that nobody knows
      }
    }

    build() {
      const { form, say } = this;
      this.fields = form.fields.map((field, number) => new FieldView(field, number, say));
      this.status = make('p', { className: 'status', role: 'alert' });
      this.buttons = form.buttons.map((button) => {
        const element = make('button', { type: 'button', className: button.style, dir: 'auto' }, button.label);
        element.addEventListener('click', () => this.pressed(button));
        return element;
      });
      const close = make('button', { type: 'button', className: 'close', 'aria-label': say('close') });
      close.addEventListener('click', () => this.end('close'));
      const title = make('h1', { id: 'title', dir: 'auto' }, form.title);
      const text = form.text && make('p', { id: 'text', className: 'text', dir: 'auto' }, form.text);
      const inner = make(
        'form', { className: 'body', noValidate: true }, title, text || null,
        ...this.fields.map((field) => field.element), this.status,
        this.buttons.length > 0 ? make('div', { className: 'buttons' }, ...this.buttons) : null);
      inner.addEventListener('submit', (event) => event.preventDefault()); // nothing leaves by itself
      this.dialog = make(
        'dialog',
        { tabIndex: -1, dir: directionOf(form.title), lang: this.language, role: 'dialog', 'aria-modal': 'true', 'aria-labelledby': 'title' },
        make('div', { className: 'bar' }, close), this.picture(), inner);
      if (text) this.dialog.setAttribute('aria-describedby', 'text');
      this.dialog.addEventListener('keydown', (event) => this.keyPressed(event));
      this.dialog.addEventListener('cancel', (event) => {
        event.preventDefault();
        this.end('escape');
      });
      this.host = make('div');
      const root = this.host.attachShadow({ mode: 'closed' });
      root.adoptedStyleSheets = [themeStyle(this.theme), style].map((text) => {
        const sheet = new CSSStyleSheet();
        sheet.replaceSync(text);
        return sheet;
      });
      root.append(this.dialog);
      this.root = root;
    }

    picture() {
      const { image } = this.form;
      if (!image) return null;
      const picture = make('img', { className: 'picture', alt: image.alt, referrerPolicy: 'no-referrer', decoding: 'async' });
      // Without its picture a form is still a form: what the picture says stands in its place.
      picture.addEventListener('error', () =>
        image.alt
          ? picture.replaceWith(make('p', { className: 'picture', dir: 'auto' }, image.alt))
          : picture.remove(),
      );
      picture.src = image.url;
      return picture;
    }

    show() {
      this.before = document.activeElement;
      document.body.append(this.host);
      this.dialog.showModal();
      this.dialog.focus({ preventScroll: true });
    }

    remove() {
      this.isGone = true;
      if (this.dialog.open) this.dialog.close();
      this.host.remove();
      this.before?.focus?.();
    }

    end(how) {
      if (this.isGone) return;
      this.remove();
      this.dismissed(how);
    }

    keyPressed(event) {
      // The keys of an input method are its own; WebKit says of the one that ends a composition only this code.
      if (event.isComposing || event.keyCode === 229) return undefined;
      if (event.key === 'Escape') {
        event.preventDefault();
        return this.end('escape');
      }
      // The browser would do it for some forms, by how many fields they have.
      if (event.key === 'Enter' && event.target.tagName === 'INPUT') {
        event.preventDefault();
        return this.submitByKey();
      }
      if (event.key !== 'Tab') return;
      const stops = [...this.dialog.querySelectorAll('button, input, select, textarea')];
      const [first, last] = event.shiftKey ? [stops.at(-1), stops[0]] : [stops[0], stops.at(-1)];
      const here = this.root.activeElement;
      if (here !== last && !(here === this.dialog && event.shiftKey)) return;
      event.preventDefault();
      first.focus();
    }

    submitByKey() {
      const button = this.form.buttons.find((each) => each.actions.some((action) => action.type === 'submit'));
      if (button) this.pressed(button);
    }

    report(text, manner = '') {
      this.status.className = `status ${manner}`;
      this.status.textContent = text;
    }

    setBusy(isBusy) {
      this.isBusy = isBusy;
      for (const button of this.buttons) {
        // Not `disabled`: that would take the focus away from who waits.
        if (isBusy) button.setAttribute('aria-disabled', 'true');
        else button.removeAttribute('aria-disabled');
      }
    }

    // Whether all answers can be sent; if not, says so and leads to the first that cannot.
    checkAnswers() {
      const wrong = this.fields.filter((field) => field.check());
      if (wrong.length === 0) return true;
      // Who sees it has it beside the field.
      const said = wrong.map((field) => `${field.field.label}: ${field.error.textContent}`);
      this.report(said.join('\n'), 'spoken');
      wrong[0].inputs[0].focus();
      return false;
    }

    get answers() {
      // Without a prototype, so that a field may have any name.
      const answers = Object.create(null);
      for (const { field, answer } of this.fields) {
        if (answer !== undefined) answers[field.name] = answer;
      }
      return answers;
    }

    // A button's actions, one after the other: none begins before the one before it is durable, and what is durable
    // is not repeated when another one fails and the button is pressed again.
    async pressed(button) {
      if (this.isBusy || this.isGone) return;
      const submits = button.actions.some((action) => action.type === 'submit');
      if (submits && !this.checkAnswers()) return;
      this.setBusy(true);
      this.report(submits ? this.say('sending') : '', 'quiet');
      for (const action of button.actions) {
        if (action.type === 'dismiss' || this.recorded.has(action)) continue;
        const failure = await this.perform(action, this.answers);
        if (this.isGone) return;
        if (failure) {
          this.setBusy(false);
          return this.report(this.say(failure));
        }
        this.recorded.add(action);
      }
      for (const action of button.actions) this.recorded.delete(action);
      this.setBusy(false);
      this.report('');
      if (submits) this.end('submitted');
      else if (button.actions.some((action) => action.type === 'dismiss')) this.end('button');
    }
  }

  // --- The runtime: events in, at most one form on the screen.

  const isEvent = (event) =>
    isObject(event) && typeof event.id === 'string' && typeof event.name === 'string' &&
    typeof event.at === 'number';

  class Runtime {
    constructor(bridge) {
      this.bridge = bridge;
      this.isGreeted = false;
      this.locale = 'en';
      this.theme = readTheme({});
      this.offset = 0;
      this.catalogue = null;
      this.coming = null; // takes over as soon as no form is asked for or shown
      this.inHand = new Map(); // events by id, in order of arrival
      this.waiting = []; // of those, the ones that wait for the screen
      this.screen = null; // { item, form, showing, phase: asking | appearing | shown, view }
      this.answers = new Map(); // actions and submits by id: what to do with the host's answer
      this.outcomes = [];
      this.postponed = []; // events whose time is far off, and when it comes: the host's until then
      this.mayPostpone = false;
    }

    // The host's time: its calendar at the last message, and our own steady clock since.
    get now() {
      return this.offset + performance.now();
    }

    setClock(now) {
      if (typeof now === 'number') this.offset = now - performance.now();
    }

    // --- What the host says.

    received(message) {
      const { type } = message;
      if (!this.isGreeted && type !== 'welcome' && type !== 'incompatible') {
        return this.fault('unexpected', type);
      }
      switch (type) {
        case 'welcome': return this.greeted(message);
        case 'incompatible': return undefined; // the host shows it
        case 'catalogue': return this.catalogueCame(message);
        case 'events': return this.eventsCame(message);
        case 'granted': return this.granted(message);
        case 'denied': return this.denied(message);
        case 'recorded': return this.answered(message.id, null);
        case 'refused': return this.answered(message.id, 'failed');
        case 'dismiss': return this.dismissAll();
        default: return this.fault('unknownType', type);
      }
    }

    fault(reason, about) {
      this.bridge.say('fault', { reason, about: String(about ?? '').slice(0, 64) });
    }

    greeted(message) {
      if (![1, 2].includes(message.protocol)) return this.fault('protocol', message.protocol);
      this.mayPostpone = message.protocol === 2;
      this.isGreeted = true;
      this.setClock(message.now);
      if (typeof message.locale === 'string' && message.locale) this.locale = message.locale;
      if (message.theme === undefined) return;
      try {
        this.theme = readTheme(message.theme);
      } catch {
        this.fault('malformed', 'theme'); // and the standard one stays
      }
    }

    catalogueCame({ version, catalogue }) {
      if (catalogue === null) return; // there is none yet
      try {
        const read = readCatalogue(catalogue);
        if (read.version !== version) throw new Refusal('/version', 'is not the announced one');
        this.coming = read;
      } catch (error) {
        const { pointer, message } = error;
        this.bridge.say('catalogueRefused', {
          version, reason: message.slice(0, 500), path: pointer.slice(0, 500),
        });
      }
      this.advance();
    }

    eventsCame({ events }) {
      if (!Array.isArray(events)) return this.fault('malformed', 'events');
      for (const event of events.slice(0, 64)) {
        if (!isEvent(event)) {
          this.fault('malformed', 'event');
          continue;
        }
        this.setClock(event.now);
        this.take(event);
      }
      this.advance();
    }

    take({ id, name, properties, at }) {
      if (this.inHand.has(id)) return;
      const item = { id, name, properties, at, next: 0, timer: null, outcome: null, isTold: false };
      this.inHand.set(id, item);
      if (!isObject(properties)) return this.end(item, { result: 'error', reason: 'properties' });
      if (this.inHand.size > limits.eventsInHand) {
        return this.end(item, { result: 'suppressed', reason: 'queueFull' });
      }
      // Without a catalogue it waits for one.
      if (this.catalogue) this.evaluate(item);
    }

    granted({ event, form, showing }) {
      const { screen } = this;
      if (screen?.phase !== 'asking' || screen.item.id !== event || screen.form.id !== form) {
        return this.fault('notAsked', 'granted');
      }
      screen.phase = 'appearing';
      screen.showing = showing;
      const names = { event, form, showing };
      this.bridge.say('formWillAppear', names);
      try {
        screen.view = new FormView(screen.form, this, {
          perform: (action, answers) => this.perform(action, answers, screen),
          dismissed: (how) => this.dismissed(screen, how),
        });
        screen.view.show();
      } catch (error) {
        screen.view?.remove();
        this.bridge.log('error', `A form could not be shown: ${error?.message}`);
        this.screen = null;
        this.end(screen.item, { result: 'error', form, reason: 'rendering' });
        return this.advance();
      }
      // The first frame is the one that draws it, the second comes when it has been drawn.
      requestAnimationFrame(() => requestAnimationFrame(() => this.appeared(screen)));
    }

    appeared(screen) {
      if (this.screen !== screen || screen.phase !== 'appearing') return;
      screen.phase = 'shown';
      this.inHand.delete(screen.item.id);
      const { item, form, showing } = screen;
      this.bridge.say('formDidAppear', { event: item.id, form: form.id, showing });
      if (screen.how) this.leave(screen, screen.how);
    }

    denied({ event, form, reason }) {
      const { screen } = this;
      if (screen?.phase !== 'asking' || screen.item.id !== event || screen.form.id !== form) {
        return this.fault('notAsked', 'denied');
      }
      this.screen = null;
      const { item } = screen;
      if (reason === 'settled') {
        this.inHand.delete(item.id);
      } else {
        item.outcome = { result: 'suppressed', form, reason: String(reason) };
        // No form may be shown now, so no other need ask.
        if (reason === 'overallFrequency') this.end(item, item.outcome);
        else this.evaluate(item);
      }
      this.advance();
    }

    answered(id, failure) {
      const answer = this.answers.get(id);
      if (!answer) return this.fault('notAsked', failure ? 'refused' : 'recorded');
      this.answers.delete(id);
      answer(failure);
    }

    forgetAll() {
      for (const item of this.inHand.values()) clearTimeout(item.timer);
      this.inHand.clear();
      this.waiting = [];
      this.outcomes = [];
      this.postponed = [];
      // What is shown has been told to the host already; what is not yet will come again.
      if (this.screen && this.screen.phase !== 'shown') {
        this.screen.view?.remove();
        this.screen = null;
      }
      this.advance();
    }

    dismissAll() {
      const { screen } = this;
      this.forgetAll();
      if (screen?.phase === 'shown') screen.view.end('host');
    }

    // --- Events.

    // Goes on to the next form that this event may show.
    evaluate(item) {
      const candidates = this.catalogue.byEvent.get(item.name) ?? [];
      while (item.next < candidates.length) {
        const { form, trigger } = candidates[item.next];
        item.next += 1;
        // Another trigger of a form that was already tried changes nothing.
        if (item.outcome?.form === form.id) continue;
        if (!trigger.test(item.properties)) continue;
        const due = Math.max(this.now, item.at + trigger.delay);
        if (due < form.window.from || due >= form.window.until) {
          item.outcome ??= { result: 'noMatch', form: form.id, reason: 'window' };
          continue;
        }
        item.form = form;
        return due > this.now ? this.delay(item, due) : this.enqueue(item);
      }
      this.end(item, item.outcome ?? { result: 'noMatch' });
    }

    delay(item, due) {
      // Who has long to wait takes no place here: the host keeps it, and hands it over again.
      if (this.mayPostpone && due - this.now > limits.heldDelay) return this.postpone(item, due);
      // A page that slept wakes late, one whose clock was set wakes early: the timer only asks again.
      const rest = Math.min(Math.max(due - this.now, 0), 86_400_000);
      item.timer = setTimeout(() => {
        item.timer = null;
        if (due > this.now) return this.delay(item, due);
        this.enqueue(item);
        this.advance();
        return this.flush();
      }, Math.ceil(rest));
    }

    postpone(item, due) {
      this.inHand.delete(item.id);
      this.postponed.push({ id: item.id, at: Math.ceil(due) });
    }

    enqueue(item) {
      const place = this.waiting.findIndex((each) => each.form.priority < item.form.priority);
      this.waiting.splice(place < 0 ? this.waiting.length : place, 0, item);
      if (this.waiting.length <= limits.waitingForScreen) return;
      const last = this.waiting.pop();
      this.end(last, { result: 'suppressed', form: last.form.id, reason: 'queueFull' });
    }

    end(item, outcome) {
      this.inHand.delete(item.id);
      this.outcomes.push({ id: item.id, ...outcome });
    }

    // Tells the host what became of events, and which are in good hands but take their time; many in one message.
    flush() {
      while (this.outcomes.length > 0) {
        this.bridge.say('handled', { events: this.outcomes.splice(0, limits.outcomesInMessage) });
      }
      while (this.postponed.length > 0) {
        this.bridge.say('later', { events: this.postponed.splice(0, limits.outcomesInMessage) });
      }
      const waiting = [];
      for (const item of this.inHand.values()) {
        if (item.isTold || this.screen?.item === item) continue;
        item.isTold = true;
        waiting.push(item.id);
      }
      while (waiting.length > 0) {
        this.bridge.say('waiting', { events: waiting.splice(0, limits.outcomesInMessage) });
      }
    }

    // --- The screen.

    // Gives a free screen to a new catalogue first, then to the event that stands first.
    advance() {
      if (this.screen) return;
      if (this.coming) this.takeOver();
      while (!this.screen && this.waiting.length > 0) {
        const item = this.waiting.shift();
        const { form } = item;
        if (this.now >= form.window.until) {
          item.outcome = { result: 'expired', form: form.id, reason: 'window' };
          this.evaluate(item);
        } else {
          this.screen = { item, form, phase: 'asking' };
          item.isTold = false;
          this.bridge.say('showing', { event: item.id, form: form.id });
        }
      }
    }

    takeOver() {
      this.catalogue = this.coming;
      this.coming = null;
      this.waiting = [];
      this.bridge.say('formsData', { version: this.catalogue.version });
      for (const item of [...this.inHand.values()]) {
        clearTimeout(item.timer);
        Object.assign(item, { timer: null, next: 0, outcome: null });
        this.evaluate(item);
      }
    }

    dismissed(screen, how) {
      // Whoever is quicker than two frames has still seen it.
      if (screen.phase === 'appearing') screen.how = how;
      else this.leave(screen, how);
    }

    leave(screen, how) {
      if (this.screen !== screen) return;
      this.screen = null;
      this.bridge.say('formDidDismiss', { form: screen.form.id, showing: screen.showing, how });
      this.advance();
      this.flush();
    }

    // Has an action recorded: nothing when it is durable, the name of what to say when it is not.
    perform(action, answers, screen) {
      // Until it is recorded an action keeps its id, so that it is recorded once however often it is tried.
      screen.ids ??= new Map();
      if (!screen.ids.has(action)) screen.ids.set(action, randomID());
      const id = screen.ids.get(action);
      const names = { form: screen.form.id, showing: screen.showing, id };
      // An event that is emitted may have as many properties as a catalogue may give it.
      const isSent = action.type === 'submit'
        ? this.bridge.say('submit', { ...names, answers }, limits.submitBytes)
        : this.bridge.say('action', { ...names, action }, limits.submitBytes);
      if (!isSent) return Promise.resolve('tooLong');
      return new Promise((resolve) => {
        this.answers.set(id, (failure) => {
          if (!failure) screen.ids.delete(action);
          resolve(failure);
        });
      });
    }
  }

  // --- Begin.

  const tag = document.querySelector('meta[name="reprise-session"]');
  const bridge = new Bridge(tag?.content ?? '');
  tag?.remove(); // nothing else on the page needs to know it
  const runtime = new Runtime(bridge);
  const inbox = [];
  const channel = new MessageChannel();

  // One message a turn of the event loop: the host's call returns at once, and the screen is drawn between.
  channel.port1.onmessage = () => {
    const text = inbox.shift();
    let type;
    try {
      const message = JSON.parse(text);
      if (!isObject(message)) throw new SyntaxError('not an object');
      type = message.type;
      runtime.received(message);
    } catch (error) {
      runtime.fault('malformed', type);
      bridge.log('error', error?.name);
    }
    runtime.flush();
  };

  const receive = (text) => {
    if (typeof text !== 'string' || text.length > limits.hostMessageBytes) {
      runtime.fault('tooLarge');
    } else if (inbox.length >= limits.waitingMessages) {
      runtime.fault('tooMany');
    } else {
      inbox.push(text);
      channel.port2.postMessage(null);
    }
  };
  Object.defineProperty(window, 'repriseReceive', { value: receive });

  bridge.say('hello', { runtime: '1.1', protocols: [1, 2] });
})();
