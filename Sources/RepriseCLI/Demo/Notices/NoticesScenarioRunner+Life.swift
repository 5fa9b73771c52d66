import Foundation
import RepriseCore
import ReprisePhone

/// Settings, time, and random actions.
extension NoticesScenarioRunner {
    /// The person sets quiet hours on another device.
    func isQuiet(from start: String, to end: String, in zone: String) async throws {
        try await elsewhere.send(
            "PUT", ["quiet-hours"],
            #"{"from":"\#(start)","to":"\#(end)","timeZone":"\#(zone)"}"#)
    }

    /// Quiet hours over midnight that hold now, in a zone in which it is midnight, at the server
    /// too.
    func isQuietNow() async throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let hour = calendar.component(.hour, from: Date())
        // Names of such zones have the sign of the other direction.
        let zone = hour < 12 ? "Etc/GMT+\(hour)" : "Etc/GMT-\(24 - hour)"
        try await isQuiet(from: "22:00", to: "02:00", in: zone == "Etc/GMT+0" ? "UTC" : zone)
    }

    /// It becomes this time of day, for the next time.
    func becomes(_ time: String, in zone: String) async throws {
        let parts = time.split(separator: ":").compactMap { Int($0) }
        guard let place = TimeZone(identifier: zone), parts.count == 2 else { return }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = place
        let now = Date(try await phone.status().now)
        let next = calendar.nextDate(
            after: now, matching: DateComponents(hour: parts[0], minute: parts[1]),
            matchingPolicy: .nextTime)
        try await passes(.seconds((next ?? now).timeIntervalSince(now)))
    }

    /// A message is in the list; that it was no banner is checked at the end.
    func isListed(_ name: String) async throws {
        try await within(timeout) {
            try await phone.app(app).delivered.contains { $0.request.id == id(name) }
        }
    }

    /// Random steps of Ada, of the person on the phone and on two other devices; after each the
    /// badge has to be right.
    func doesRandomly(_ steps: Int) async throws {
        var random = NoticesRandom(state: 0x9E37_79B9)
        try await launch()
        try await goesHome()
        var isHome = true
        for step in 1...steps {
            switch random.next(10) {
            case 0...4:
                // Whether it is a banner is not checked here: it may be visible on the screen.
                try await writes("m\(step)", .any, in: random.next(2))
            case 5, 6: try await readsElsewhere(random.next(2))
            case 7:
                let shown = try await phone.app(app).delivered.map(\.request.id)
                if let first = shown.first {
                    try await marksRead(String(first.split(separator: "-").last ?? ""))
                    isHome = algorithm == .reprise ? isHome : false
                }
            case 8:
                if isHome { try await opens() } else { try await goesHome() }
                isHome.toggle()
            default:
                try await isKilled()
                try await launch()
                isHome = false
            }
            try await badgeIsRight()
            // One is enough to be said.
            if await !book.faults.isEmpty { return }
        }
    }
}

/// The same steps in each run.
private struct NoticesRandom {
    var state: UInt64

    mutating func next(_ bound: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int(truncatingIfNeeded: state >> 33) % bound
    }
}
