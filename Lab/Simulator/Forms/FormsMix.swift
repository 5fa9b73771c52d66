import RepriseCore
import RepriseForms

/// What takes part in a run of `forms`.
///
/// As in ``ChannelsMix``: nineteen of twenty runs are small and leave most things out, each others;
/// one has everything at once.
struct FormsMix {
    /// What events are called; a name that is there twice is met twice as often.
    let names: [String]
    /// Of the events so many come at one of the ``moments``, together with others.
    let bursts: Double
    /// As shares of the run's length.
    let moments: [Double]
    /// Whether the app decides about each form.
    let asksApp: Bool

    init(_ schedule: FaultSchedule, size: FaultSchedule.Size) {
        // Of its own stream, so that what was found before stays as it was.
        var app = SeededRandom(seed: schedule.seed, purpose: "the app's word")
        asksApp = size == .small && app.chance(0.4)
        switch size {
        case .large: (names, bursts, moments) = (FormsWorld.names, 0, [])
        case .small:
            var random = SeededRandom(seed: schedule.seed, purpose: "mix")
            names = Self.few(&random)
            bursts = [0, 0.3, 0.8][random.index(3)]
            moments = (0...random.index(3)).map { _ in random.fraction() }
        }
    }

    static func size(of seed: UInt64) -> FaultSchedule.Size {
        var random = SeededRandom(seed: seed, purpose: "size")
        return random.chance(0.05) ? .large : .small
    }

    /// One to four of all.
    private static func few(_ random: inout SeededRandom) -> [String] {
        var left = FormsWorld.names
        return (0...random.index(4)).map { _ in left.remove(at: random.index(left.count)) }
    }
}
