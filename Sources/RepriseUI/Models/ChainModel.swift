public import Observation
public import Reprise

/// The progress of one chain, for a screen.
///
/// ```swift
/// struct UploadRow: View {
///     let upload: ChainModel                        // client.model(for: id)
///
///     var body: some View {
///         ProgressView(value: upload.fraction)
///         if let note = upload.progress?.note { Text(note) }
///     }
/// }
/// ```
///
/// A chain belongs to the account that has started it: in another one ``progress`` is nil.
@MainActor @Observable
public final class ChainModel: Identifiable {
    /// The chain.
    public let id: ChainID
    /// How far it is; nil: it is not read yet, or this account has no such chain.
    public private(set) var progress: ChainProgress?
    /// How much of the whole chain is done, 0 to 1; its tasks count alike.
    public var fraction: Double {
        guard let progress, progress.total > 0 else { return 0 }
        let task = progress.fraction.map { $0.isFinite ? min(max($0, 0), 1) : 0 } ?? 0
        return min((Double(progress.done) + task) / Double(progress.total), 1)
    }
    /// Whether it has ended; only a retry continues it.
    public var isEnded: Bool { progress?.state.isEnd ?? false }

    @ObservationIgnored private let watches = Watches()

    /// Makes the model, and begins to watch; see `client.model(for:)`.
    ///
    /// - Parameters:
    ///   - id: the chain.
    ///   - client: its client.
    public init(_ id: ChainID, of client: RepriseClient) {
        self.id = id
        watches.follow(
            accountsOf: client, for: self,
            { client in
                let progress = try await client.chains.progress(of: id, endsWithChain: false)
                return AsyncStream<ChainProgress?>(bufferingPolicy: .bufferingNewest(1)) { values in
                    values.yield(nil)
                    let task = Task {
                        for await value in progress { values.yield(value) }
                        values.finish()
                    }
                    values.onTermination = { _ in task.cancel() }
                }
            }, { $0.progress = $1 })
    }
}
