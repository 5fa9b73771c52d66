/// What the chains of a run are made of, and how often each thing is done.
///
/// Most runs are small and leave most things out, each others; one of a hundred has everything at
/// once, as in ``ChannelsMix``. Each commit of this workload is one of SQLite, so what a run costs
/// is how many tasks its chains have.
struct ChainsMix {
    let isLarge: Bool
    /// Messages that start a chain, and that say something about one; the others are replies.
    let starts: Double
    let commands: Double
    /// At how many moments messages come, and at how many of them replies; several that come at
    /// once share commits.
    let moments: Int
    let replyMoments: Int
    /// The most steps of a chain, and how often a step has several tasks.
    let steps: Int
    let parallel: Double
    /// Steps that wait for something.
    let waits: Double
    /// Tasks whose effects can be taken back, and whose workers some launches miss.
    let undos: Double
    let rare: Double
    /// Tasks and chains that are late after a time, and chains that begin after one.
    let deadlines: Double
    let delays: Double
    /// Chains that have a name, and that need a network.
    let names: Double
    let network: Double
    /// Whether steps depend on earlier outputs, and chains that have ended are removed: in four of
    /// ten runs, known by the last digit of their seeds.
    let choices: Bool

    init(_ seed: UInt64) {
        isLarge = Self.isLarge(seed)
        choices = [0, 2, 3, 7].contains(seed % 10)
        if isLarge {
            (starts, commands, steps, parallel) = (0.6, 0.25, 4, 0.4)
            (waits, undos, rare, deadlines, delays) = (0.2, 0.5, 0.15, 0.1, 0.15)
            (names, network, moments, replyMoments) = (0.5, 0.3, 1_000_000, 1_000_000)
        } else {
            var random = SeededRandom(seed: seed, purpose: "mix")
            func one<T>(_ all: T...) -> T { all[random.index(all.count)] }
            starts = one(0.06, 0.1, 0.12, 0.2)
            commands = one(0.1, 0.3, 0.3, 0.5)
            steps = one(1, 2, 2, 3)
            parallel = one(0, 0.3, 0.3, 0.7)
            waits = one(0, 0, 0.2, 0.5)
            undos = one(0, 0.5, 0.9)
            rare = one(0, 0.15, 0.3)
            deadlines = one(0, 0, 0.1, 0.4)
            delays = one(0, 0, 0.15, 0.4)
            moments = one(6, 12, 24, 1_000_000)
            // Where nothing waits for a reply, it is one more entry.
            replyMoments = waits == 0 ? 3 : min(moments, 24)
            names = one(0, 0.5, 1)
            network = one(0, 0.3, 0.8)
        }
    }

    static func isLarge(_ seed: UInt64) -> Bool {
        var random = SeededRandom(seed: seed, purpose: "size")
        return random.chance(0.01)
    }
}
