import Foundation
import NIOCore
import Reprise
import RepriseNIO
import ReprisePhone

/// Forms in a real browser, each figure beside a bare page, bare DevTools calls and bare commits.
struct FormsBench {
    /// In milliseconds.
    struct Times {
        private var all: [Double] = []

        mutating func add(from start: Int64, to end: Int64) {
            all.append(Double(end - start) / 1e6)
        }

        func percentile(_ share: Double) -> Double {
            let sorted = all.sorted()
            let index = Int((Double(sorted.count) * share).rounded(.up)) - 1
            return sorted.isEmpty ? .nan : sorted[min(max(index, 0), sorted.count - 1)]
        }
    }

    private let chromium: Chromium

    static func run<T>(_ body: (FormsBench) async throws -> T) async throws -> T {
        let bench = FormsBench(chromium: try await Chromium.start())
        do {
            let result = try await body(bench)
            await bench.chromium.end()
            return result
        } catch {
            await bench.chromium.end()
            throw error
        }
    }

    private func withFolder<T>(_ body: (URL) async throws -> T) async throws -> T {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("reprise-bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        return try await body(folder)
    }

    private func withForms<T>(_ body: (Forms) async throws -> T) async throws -> T {
        try await withFolder { folder in
            var configuration = AccountClient.Configuration()
            configuration.forms = Forms.Configuration()
            let reprise = try await AccountClient.open(
                at: folder, server: "http://127.0.0.1:9", dialer: NIODialer(),
                configuration: configuration)
            guard let forms = reprise.forms else { throw BenchmarkError("there are no forms") }
            let result = try await body(forms)
            await reprise.close()
            return result
        }
    }

    /// Runs the feature while `body` reads what crosses the bridge.
    private func running<T>(
        _ forms: Forms, _ catalogue: String,
        _ body: (inout AsyncStream<WatchedViews.Crossing>.Iterator) async throws -> T
    ) async throws -> T {
        let tabs = ChromiumWebViews(address: chromium.address, app: "bench")
        let views = WatchedViews(tabs)
        let run = Task {
            try await forms.run(webViews: views, catalogue: CatalogueSource(catalogue: catalogue))
        }
        var crossings = views.crossings.makeAsyncIterator()
        let result = try await body(&crossings)
        run.cancel()
        _ = try? await run.value
        // Its connection, which would stay open for each of a hundred lives.
        await tabs.close()
        return result
    }

    private func next(
        _ type: String, _ crossings: inout AsyncStream<WatchedViews.Crossing>.Iterator
    ) async throws -> WatchedViews.Crossing {
        while let crossing = await crossings.next() {
            if crossing.type == type { return crossing }
            if crossing.type == "catalogueRefused" {
                throw BenchmarkError(String(decoding: crossing.text, as: UTF8.self))
            }
        }
        throw BenchmarkError("the page said no \(type)")
    }

    /// One of each, in whichever order they come.
    private func next(
        both first: String, _ second: String,
        _ crossings: inout AsyncStream<WatchedViews.Crossing>.Iterator
    ) async throws -> (first: WatchedViews.Crossing, second: WatchedViews.Crossing) {
        var found: [String: WatchedViews.Crossing] = [:]
        while let crossing = await crossings.next() {
            if [first, second].contains(crossing.type) { found[crossing.type] = crossing }
            if let one = found[first], let other = found[second] { return (one, other) }
        }
        throw BenchmarkError("the page said no \(first) or no \(second)")
    }

    private static func catalogue(forms count: Int, event: String) -> String {
        let forms = (0..<count).map {
            #"{"id":"f\#($0)","triggers":[{"event":"\#(event)","where":{"and":[{"property":"plan","is":"equals","value":"vip"},"#
                + #"{"property":"cart.total","is":"atLeast","value":\#($0)}]}}],"#
                + #""title":"t","buttons":[{"label":"OK","actions":[{"type":"dismiss"}]}]}"#
        }
        return #"{"format":"forms/1","version":"1","forms":[\#(forms.joined(separator: ","))]}"#
    }

    // MARK: The last gate

    /// From the page's word that opens the last gate until the page has the event that was held.
    func lastGate(lives: Int) async throws -> Double {
        try await withForms { forms in
            var times = Times()
            for _ in 0..<lives {
                try await forms.record("held", properties: #"{"plan":"basic"}"#)
                try await running(forms, Self.catalogue(forms: 1, event: "held")) { crossings in
                    let opened = try await next("formsData", &crossings)
                    // What the page answers may come before the browser's word that the page has
                    // it.
                    let both = try await next(both: "events", "handled", &crossings)
                    times.add(from: opened.at, to: both.first.at)
                    // The feature hears of it after us; what it has not would come again in the
                    // next life.
                    while await forms.diagnostics.inFlight > 0 {
                        try await Task.sleep(for: .milliseconds(1))
                    }
                }
            }
            return times.percentile(0.99)
        }
    }

    /// The same with a page that was made a moment ago: it answers what it is told, a catalogue of
    /// the same size too; that is committed, and the page is told as much as an event is.
    func bareGate(lives: Int) async throws -> Double {
        let catalogue = Self.catalogue(forms: 1, event: "held")
        let given = Array(#"{"type":"catalogue","catalogue":\#(catalogue)}"#.utf8)
        let text = Array(
            (#"{"type":"event","x":""# + String(repeating: "x", count: 180) + #""}"#).utf8)
        return try await withFolder { folder in
            let storage = try BareStorage(folder: folder.path)
            var times = Times()
            for _ in 0..<lives {
                try await onFreshPage { view, events in
                    try await view.send(given)
                    _ = await events.next()
                    let start = MonotonicTime.now
                    await Self.commit(storage, [text])
                    try await view.send(text)
                    times.add(from: start, to: MonotonicTime.now)
                    _ = await events.next()
                }
            }
            return times.percentile(0.99)
        }
    }

    private func bare<T>(
        _ body: (
            any HostedWebView, inout AsyncStream<WebViewEvent>.Iterator, BareStorage
        ) async throws -> T
    ) async throws -> T {
        try await withFolder { folder in
            let storage = try BareStorage(folder: folder.path)
            return try await onFreshPage { view, events in
                await view.setVisible(true)
                return try await body(view, &events, storage)
            }
        }
    }

    /// A page of its own, and its end.
    private func onFreshPage<T>(
        _ body: (any HostedWebView, inout AsyncStream<WebViewEvent>.Iterator) async throws -> T
    ) async throws -> T {
        let views = ChromiumWebViews(address: chromium.address, app: "bare")
        let view = try await views.open(BarePage.page)
        var events = view.events.makeAsyncIterator()
        _ = await events.next()  // ready
        let result = try await body(view, &events)
        await view.close()
        await views.close()
        return result
    }

    private static func commit(_ storage: BareStorage, _ rows: [[UInt8]]) async {
        await withCheckedContinuation { continuation in
            storage.store(rows.map { ByteBuffer(bytes: $0) }) { _ in continuation.resume() }
        }
    }

    // MARK: A tap

    /// From a tap on a running app until two frames show its form.
    func tap(count: Int) async throws -> (p50: Double, p99: Double) {
        try await withForms { forms in
            let catalogue =
                #"{"format":"forms/1","version":"1","forms":[{"id":"welcome","triggers":[{"event":"opened_push"}],"#
                + #""title":"Welcome","text":"Good to see you.","fields":[{"name":"email","label":"E-mail","type":"email"}],"#
                + #""buttons":[{"label":"OK","style":"primary","actions":[{"type":"dismiss"}]}]}]}"#
            return try await running(forms, catalogue) { crossings in
                _ = try await next("formsData", &crossings)
                var times = Times()
                for number in 0..<count {
                    let start = MonotonicTime.now
                    try await forms.received(Self.tap(number))
                    let visible = try await next("formDidAppear", &crossings)
                    times.add(from: start, to: visible.at)
                    try await Task.sleep(for: .milliseconds(20))
                    forms.dismiss()
                    _ = try await next("formDidDismiss", &crossings)
                }
                return (times.percentile(0.5), times.percentile(0.99))
            }
        }
    }

    private static func tap(_ number: Int) -> NotificationResponse {
        let content = NotificationContent(title: "Welcome", body: "Tap me")
        return NotificationResponse(
            notification: DeliveredNotification(
                request: NotificationRequest(id: "n\(number)", content: content),
                date: WallTime(milliseconds: 1_795_219_200_000 + Int64(number)), isRemote: true))
    }

    /// A commit, a call, two frames, an answer.
    func bareTap(count: Int) async throws -> (p50: Double, p99: Double) {
        try await bare { view, events, storage in
            var times = Times()
            let text = Array(#"{"type":"frames"}"#.utf8)
            for _ in 0..<count {
                let start = MonotonicTime.now
                await Self.commit(storage, [text])
                try await view.send(text)
                _ = await events.next()
                times.add(from: start, to: MonotonicTime.now)
                try await Task.sleep(for: .milliseconds(20))
            }
            return (times.percentile(0.5), times.percentile(0.99))
        }
    }

    // MARK: Many

    /// From the last gate until the page has said what became of the last of `count` held events.
    ///
    /// - Returns: seconds.
    func held(_ count: Int) async throws -> Double {
        try await withForms { forms in
            for start in stride(from: 0, to: count, by: 250) {
                // Concurrent records share commits; the order within 250 is nobody's.
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in start..<min(start + 250, count) {
                        group.addTask {
                            let id = try EntryID("e\(1_000_000 + number / 250)-\(number)")
                            try await forms.record("held", properties: #"{"plan":"basic"}"#, id: id)
                        }
                    }
                    try await group.waitForAll()
                }
            }
            return try await running(forms, Self.catalogue(forms: 1, event: "held")) { crossings in
                let opened = try await next("formsData", &crossings)
                var handled = 0
                var last: Int64 = opened.at
                var block = ""
                while handled < count, let crossing = await crossings.next() {
                    let text = String(decoding: crossing.text, as: UTF8.self)
                    if crossing.type == "events" {
                        for piece in text.components(separatedBy: #""id":"e"#).dropFirst() {
                            let now = String(piece.prefix(7))
                            guard block <= now else { throw BenchmarkError("out of order") }
                            block = now
                        }
                    } else if crossing.type == "handled" {
                        handled += text.components(separatedBy: #""id":"#).count - 1
                        last = crossing.at
                    }
                }
                guard handled == count else { throw BenchmarkError("\(handled) of \(count)") }
                return Double(last - opened.at) / 1e9
            }
        }
    }

    /// The same texts in the same messages: 64 rows a commit, a call, an answer.
    func bareHeld(_ count: Int) async throws -> Double {
        try await bare { view, events, storage in
            let row = Array((#"{"x":""# + String(repeating: "x", count: 150) + #""}"#).utf8)
            let body = (0..<64).map { _ in String(decoding: row, as: UTF8.self) }
            let text = Array(#"{"type":"event","events":[\#(body.joined(separator: ","))]}"#.utf8)
            let start = MonotonicTime.now
            for _ in 0..<(count + 63) / 64 {
                await Self.commit(storage, Array(repeating: row, count: 64))
                try await view.send(text)
                _ = await events.next()
                await Self.commit(storage, Array(repeating: row, count: 64))
            }
            return Double(MonotonicTime.now - start) / 1e9
        }
    }

    // MARK: Triggers

    /// What an event costs, of many that are released together and match none of so many forms, in
    /// milliseconds.
    func evaluation(forms count: Int, events: Int) async throws -> Double {
        try await withForms { forms in
            for number in 0..<events {
                let properties = #"{"plan":"vip","cart":{"total":-1},"n":\#(number)}"#
                try await forms.record("held", properties: properties)
            }
            return try await running(forms, Self.catalogue(forms: count, event: "held")) {
                crossings in
                let opened = try await next("formsData", &crossings)
                var (handled, last) = (0, opened.at)
                while handled < events {
                    let crossing = try await next("handled", &crossings)
                    let text = String(decoding: crossing.text, as: UTF8.self)
                    handled += text.components(separatedBy: #""id":"#).count - 1
                    last = crossing.at
                }
                return Double(last - opened.at) / 1e6 / Double(events)
            }
        }
    }
}
