/// What the runs of `chains-system` have besides those of `chains`, drawn from a stream of their
/// own.
struct ChainsSurroundings {
    /// The system takes the app to the background, and grants it time.
    var grantsTime = false
    /// How often an output is too long for its row: in half of the runs.
    var longOutputs = 0.0
    /// How many chains of a device go bad on the disk while no process has them in memory: in half
    /// of the runs.
    var damages = 0
    /// `chains-schedules`: the app has schedules, and no messages but theirs.
    var hasSchedules = false

    /// Nothing of it.
    static let none = ChainsSurroundings()

    static let schedules: ChainsSurroundings = {
        var surroundings = ChainsSurroundings()
        surroundings.hasSchedules = true
        return surroundings
    }()

    private init() {}

    init(_ seed: UInt64) {
        grantsTime = true
        var random = SeededRandom(seed: seed, purpose: "surroundings")
        let (isLong, rank) = (random.chance(0.5), random.fraction())
        longOutputs = isLong ? rank : 0
        damages = random.chance(0.5) ? 1 + random.index(2) : 0
    }
}
