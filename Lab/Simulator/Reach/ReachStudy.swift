import Synchronization

/// Asks what of a claim is true: at the inputs' values, over their ranges, and backwards.
///
/// The same seed gives the same report, on any number of threads.
package struct ReachStudy: Sendable {
    package var inputs: ReachInputs
    package var seed: UInt64
    package var devices: Int
    package var days: Int
    /// How many draws of all inputs together.
    package var draws: Int
    package var jobs: Int

    package init(
        inputs: ReachInputs = ReachInputs(), seed: UInt64 = 1, devices: Int = 500, days: Int = 7,
        draws: Int = 100, jobs: Int = 1
    ) {
        self.inputs = inputs
        self.seed = seed
        self.devices = devices
        self.days = days
        self.draws = draws
        self.jobs = max(1, jobs)
    }

    /// How many people stand for the population where it is simulated again and again; always the
    /// first of it.
    private var panel: Int { min(devices, max(50, devices / 8)) }

    /// Plays everything; `progress` hears which part of it is done, from any thread.
    ///
    /// - Throws: `CancellationError`.
    package func run(progress: @escaping @Sendable (Double) -> Void = { _ in }) async throws
        -> ReachReport
    {
        let scene = try ReachScene()
        let questions = ReachRequirement.all
        let points = self.points
        let steps = Double(points.count + questions.count)
        let done = Guarded(0.0)
        let step: @Sendable () -> Void = {
            progress(
                done.value.withLock { count in
                    count += 1
                    return count / steps
                })
        }
        let samples = try await inParallel(points.count) { index in
            defer { step() }
            return ReachSample(
                point: points[index], seed: seed, devices: index == 0 ? devices : panel,
                days: days, scene: scene, isOver: { Task.isCancelled })
        }
        let requirements = try await inParallel(questions.count) { index in
            defer { step() }
            return questions[index].answered(inputs.point) { point, mode in
                guard !Task.isCancelled else { return 0 }
                return ReachSample(
                    point: point, modes: [mode], seed: seed, devices: panel, days: days,
                    scene: scene, isOver: { Task.isCancelled }
                ).share(mode, within: ReachReport.judged).share
            }
        }
        let modes = ReachMode.allCases.map { mode in self.mode(mode, samples) }
        return ReachReport(
            seed: seed, devices: devices, days: days, draws: draws, inputs: inputs, modes: modes,
            requirements: requirements, favourable: try favourable(modes, scene))
    }

    // MARK: What is simulated

    /// The values; each input low and high; draws of all.
    private var points: [ReachPoint] {
        var points = [inputs.point]
        for input in ReachInput.allCases {
            let range = inputs[input].range
            for end in [range.low, range.high] {
                var point = inputs.point
                point[input] = end
                points.append(point)
            }
        }
        var random = SeededRandom(seed: seed, purpose: "draws")
        for _ in 0..<draws {
            var point = inputs.point
            for input in ReachInput.allCases {
                point[input] = inputs[input].range.drawn(random.fraction())
            }
            points.append(point)
        }
        return points
    }

    private func inParallel<T: Sendable>(
        _ count: Int, _ body: @escaping @Sendable (Int) -> T
    ) async throws -> [T] {
        let next = Guarded(0)
        let results = Guarded([T?](repeating: nil, count: count))
        await withDiscardingTaskGroup { group in
            for _ in 0..<min(jobs, count) {
                group.addTask {
                    while !Task.isCancelled {
                        let index = next.value.withLock { index in
                            index += 1
                            return index - 1
                        }
                        guard index < count else { return }
                        let result = body(index)
                        results.value.withLock { $0[index] = result }
                    }
                }
            }
        }
        try Task.checkCancellation()
        return results.value.withLock { $0.compactMap(\.self) }
    }

    // MARK: What came of it

    private func mode(_ mode: ReachMode, _ samples: [ReachSample]) -> ReachReport.Mode {
        let swings = 1..<(1 + 2 * ReachInput.allCases.count)
        let drawn = samples[swings.upperBound...]
        func figure(_ share: (ReachSample) -> ReachShare) -> ReachReport.Figure {
            let value = share(samples[0])
            let shares = drawn.map { share($0).share }.sorted()
            guard !shares.isEmpty else {
                return ReachReport.Figure(value: value, low: value.share, high: value.share)
            }
            return ReachReport.Figure(
                value: value, low: shares[shares.count / 20],
                high: shares[shares.count - 1 - shares.count / 20])
        }
        return ReachReport.Mode(
            mode: mode,
            within: ReachHorizon.allCases.map { horizon in
                figure { $0.share(mode, within: horizon) }
            },
            atOpen: figure { $0.share(mode, \.atOpen) },
            later: figure { $0.share(mode, \.later) },
            noticed: figure { $0.share(mode, \.noticed) },
            quiet: figure { $0.share(mode, \.quiet) },
            swings: ReachHorizon.allCases.map { horizon in
                ReachInput.allCases.map { input in
                    ReachReport.Swing(
                        input: input,
                        atLow: samples[1 + 2 * input.index].share(mode, within: horizon).share,
                        atHigh: samples[2 + 2 * input.index].share(mode, within: horizon).share)
                }
                .enumerated().sorted { ($1.element.size, $0.offset) < ($0.element.size, $1.offset) }
                .map(\.element)
            },
            tally: samples[0].sum(mode))
    }

    /// The claim with every input at the better end of its range.
    private func favourable(_ modes: [ReachReport.Mode], _ scene: ReachScene) throws
        -> [ReachMode: Double]
    {
        var best: [ReachMode: Double] = [:]
        for mode in modes where ReachRequirement.modes.contains(mode.mode) {
            try Task.checkCancellation()
            var point = inputs.point
            for swing in mode.swings[ReachReport.judged.rawValue] where swing.size > 0 {
                let range = inputs[swing.input].range
                point[swing.input] = swing.atHigh > swing.atLow ? range.high : range.low
            }
            best[mode.mode] =
                ReachSample(
                    point: point, modes: [mode.mode], seed: seed, devices: panel, days: days,
                    scene: scene
                ).share(mode.mode, within: ReachReport.judged).share
        }
        return best
    }
}

/// What threads share.
private final class Guarded<Value: Sendable>: Sendable {
    let value: Mutex<Value>

    init(_ value: Value) { self.value = Mutex(value) }
}
