/// The scale of the demo: quick, or the full numbers.
struct ChainsScale: Sendable {
    /// How often the chain of 1,000 steps is killed.
    let kills: Int
    /// The bytes of the file that is fetched; a multiple of 8.
    let downloadBytes: Int
    /// The chains that wait; 10,000 take a debug build a quarter of a minute to start.
    let waiting: Int

    static let quick = ChainsScale(kills: 20, downloadBytes: 16_000_000, waiting: 2_000)
    static let full = ChainsScale(kills: 100, downloadBytes: 50_000_000, waiting: 10_000)
}
