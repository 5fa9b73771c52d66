import RepriseCore

/// How much is reminded of in a run, and for how long.
///
/// Most runs are small and differ; one of twenty-five has everything at once, as in
/// ``ChannelsMix``. What a run costs is how many requests are pending: all of them are compared in
/// each reconciliation.
struct RemindersMix {
    let isLarge: Bool
    /// The most goals that a phone begins with, and how often it begins with many.
    let goals: Int
    let crowds: Double
    /// The most reminders of a goal, and times of a day.
    let reminders: Int
    let times: Int
    /// Reminders that go on without an end, where their days repeat.
    let endless: Double
    /// Reminders that ring on one day alone.
    let once: Double
    /// Days of months and years, ends, counts and exceptions, quiet hours and clocks that are set,
    /// drawn from streams of their own.
    private(set) var hasRules = false
    /// Where the phones are at first; nil: anywhere.
    private(set) var home: SimulatedPlace?
    /// What their calendars say at first.
    private(set) var began = SimulatedClock.beginning

    init(_ seed: UInt64) {
        isLarge = Self.isLarge(seed)
        if isLarge {
            (goals, crowds, reminders, times) = (6, 0.3, 3, 4)
            (endless, once) = (0.5, 0.4)
        } else {
            var random = SeededRandom(seed: seed, purpose: "mix")
            func one<T>(_ all: T...) -> T { all[random.index(all.count)] }
            goals = one(1, 2, 3, 5)
            crowds = 0
            reminders = one(1, 1, 2, 3)
            times = one(1, 1, 2, 4)
            endless = one(0, 0, 0, 0, 0.1, 0.5)
            once = one(0, 0.4, 0.8)
        }
    }

    /// In most runs the clock of the phones' place is set within the run.
    mutating func addRules(_ seed: UInt64, length: Duration) {
        hasRules = true
        var random = SeededRandom(seed: seed, purpose: "season")
        guard random.chance(0.7), !SimulatedPlace.changing.isEmpty else { return }
        let place = SimulatedPlace.changing[random.index(SimulatedPlace.changing.count)]
        let changes = place.changes(in: 2_027)
        home = place
        began = WallTime(milliseconds: changes[random.index(changes.count)] * 1_000)
            .advanced(by: .zero - length * random.fraction())
    }

    /// Where phones can be.
    var places: [SimulatedPlace] {
        SimulatedCalendar.places + (hasRules ? SimulatedPlace.changing : [])
    }

    static func isLarge(_ seed: UInt64) -> Bool {
        var random = SeededRandom(seed: seed, purpose: "size")
        return random.chance(0.04)
    }
}
