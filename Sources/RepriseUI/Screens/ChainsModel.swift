public import Foundation
public import Observation
public import Reprise

/// The State Viewer: the chains of the current account, newest first.
///
/// ```swift
/// let chains = ChainsModel(client)
/// await chains.refresh()
/// for chain in chains.rows { print(chain.title, chain.state, chain.progress) }
/// ```
///
/// `ChainsView` lays it out. It reads a page of 100 chains at each refresh, and at most 1,000.
@MainActor @Observable
public final class ChainsModel {
    /// Which chains are listed.
    public enum Filter: String, Hashable, Sendable, CaseIterable, Identifiable {
        /// All of them.
        case all
        /// Those that have not ended.
        case open
        /// Those that have ended.
        case ended

        /// Itself.
        public var id: Self { self }
        /// Its button.
        public var title: String { rawValue.capitalized }
    }

    /// How many chains a page has.
    static let page = 100
    /// How many chains are listed at most, as `Chains.list` returns them.
    static let most = 1_000

    /// The chains, newest first.
    public var rows: [ChainListRow] {
        listed.filter { row in
            switch filter {
            case .all: true
            case .open: !row.isEnded
            case .ended: row.isEnded
            }
        }.map(\.row)
    }
    /// Which of them are listed.
    public var filter = Filter.all
    /// Whether there are older ones: ``loadMore()`` brings them.
    public private(set) var hasMore = false
    /// Why they cannot be read; nil: they can.
    public private(set) var fault: RepriseError?
    /// What stands in place of no rows; nil: there are some, or none was read yet.
    public var placeholder: String? {
        guard rows.isEmpty else { return nil }
        if let fault { return fault.message }
        guard isRead else { return nil }
        guard filter != .all else { return "No chain was started" }
        return hasMore
            ? "None of the newest \(listed.count) chains is \(filter.rawValue)"
            : "No chain is \(filter.rawValue)"
    }

    @ObservationIgnored private let client: RepriseClient
    @ObservationIgnored private let zone: TimeZone
    @ObservationIgnored private var limit = page
    private var listed: [(row: ChainListRow, isEnded: Bool)] = []
    private var isRead = false

    /// Makes the model; it reads nothing yet.
    ///
    /// - Parameters:
    ///   - client: the client, with chains.
    ///   - zone: of the times that are shown.
    public init(_ client: RepriseClient, timeZone zone: TimeZone = .current) {
        self.client = client
        self.zone = zone
    }

    /// Reads the list.
    public func refresh() async {
        let limit = limit
        do {
            // One more than is shown says whether there are older ones.
            let statuses = try await client.chains.list(limit: min(limit + 1, Self.most))
            // The next page was asked for meanwhile, and its read shows this one, too.
            guard limit == self.limit else { return }
            listed = statuses.prefix(limit).map { (ChainListRow($0, in: zone), $0.state.isEnd) }
            hasMore = statuses.count > limit
            isRead = true
            fault = nil
        } catch {
            guard limit == self.limit else { return }
            listed = []
            hasMore = false
            fault = RepriseError(showing: error)
        }
    }

    /// Adds the next page.
    public func loadMore() async {
        guard hasMore else { return }
        limit = min(limit + Self.page, Self.most)
        await refresh()
    }

    /// Reads the list again and again, until the task is cancelled: for a view's `task`.
    ///
    /// - Parameter interval: between two reads.
    public func follow(every interval: Duration = .seconds(1)) async {
        while !Task.isCancelled {
            await refresh()
            try? await Task.sleep(for: interval)
        }
    }

    /// One chain of the list.
    ///
    /// - Parameter id: the chain.
    /// - Returns: a model of its own for each screen.
    public func detail(of id: ChainID) -> ChainDetailModel {
        ChainDetailModel(id, of: client, timeZone: zone)
    }
}

/// One chain in the State Viewer, and what a person can do to it.
///
/// ```swift
/// let model = ChainDetailModel(id, of: client)
/// await model.refresh()
/// if model.detail?.actions.contains(.retry) == true { await model.perform(.retry) }
/// ```
///
/// `ChainsView` shows it for the chain that is chosen.
@MainActor @Observable
public final class ChainDetailModel {
    /// The chain.
    public let id: ChainID
    /// What is shown; nil: not read yet, or there is no such chain.
    public private(set) var detail: ChainDetail?
    /// Why what a person asked for last cannot be done, or why it cannot be read; nil: nothing.
    public var fault: RepriseError? { refusal ?? unread }

    @ObservationIgnored private let client: RepriseClient
    @ObservationIgnored private let zone: TimeZone
    /// Stays over reads until the next action: else nobody would have the time to read it.
    private var refusal: RepriseError?
    private var unread: RepriseError?

    /// Makes the model; it reads nothing yet.
    ///
    /// - Parameters:
    ///   - id: the chain.
    ///   - client: its client.
    ///   - zone: of the times that are shown.
    public init(_ id: ChainID, of client: RepriseClient, timeZone zone: TimeZone = .current) {
        self.id = id
        self.client = client
        self.zone = zone
    }

    /// Reads the chain.
    public func refresh() async {
        do {
            let status = try await client.chains.status(id)
            detail = status.map { ChainDetail($0, in: zone) }
            unread =
                status == nil
                ? RepriseError(.noSuchChain, "There is no such chain; ended ones leave in time.")
                : nil
        } catch {
            unread = RepriseError(showing: error)
        }
    }

    /// Reads it again and again, until the task is cancelled: for a view's `task`.
    ///
    /// - Parameter interval: between two reads.
    public func follow(every interval: Duration = .seconds(1)) async {
        while !Task.isCancelled {
            await refresh()
            try? await Task.sleep(for: interval)
        }
    }

    /// Records what a person asks for; the chain obeys while the client runs.
    ///
    /// - Parameter action: one of the detail's.
    public func perform(_ action: ChainAction) async {
        refusal = nil
        do {
            let chains = try await client.chains
            switch action {
            case .pause: try await chains.pause(id)
            case .resume: try await chains.resume(id)
            case .retry: try await chains.retry(id)
            case .cancel: try await chains.cancel(id)
            }
            await refresh()
        } catch {
            refusal = RepriseError(showing: error)
        }
    }
}

extension RepriseError {
    /// An error of any kind, for a screen.
    init(showing error: any Error) {
        self = error as? RepriseError ?? RepriseError(.internal, "\(error)", cause: error)
    }
}
