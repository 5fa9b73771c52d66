import RepriseCore
import RepriseWire

/// The lease by which a gateway pushes for its cluster, and what it reports to the journal.
package struct PushLease: Sendable {
    private let service: PushService
    private let lease: HeldLease
    private let submit: CommandSubmission

    package init(
        _ service: PushService, _ lease: HeldLease, submit: @escaping CommandSubmission
    ) {
        (self.service, self.lease, self.submit) = (service, lease, submit)
    }

    /// Whether this gateway may push now.
    var isCurrent: Bool { lease.isCurrent }

    /// Begins, where others have come to.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.refused` if another gateway pushes now, and as
    ///   ``CommandSubmission``.
    func begin() async throws {
        try await perform([.beginPushing(service, grant: lease.grant)])
    }

    /// Reports what was pushed, and which addresses are invalid; before its rows end here, so that
    /// another gateway does not push it again.
    func report(_ settled: [PushSettled]) async throws {
        var progress = PushProgress(service, by: lease.grant)
        for one in settled {
            let entry = one.entry
            switch one.acknowledgement {
            case .pushed where entry.kind == .alert:
                progress.marks.append(
                    .init(
                        user: entry.user, device: entry.device, channel: entry.channel,
                        seq: entry.seq))
            case .dead(let since):
                guard let address = one.address else { continue }
                progress.invalid.append(
                    .init(
                        user: entry.user, device: entry.device, text: address.text, since: since))
            case .pushed, .dropped, .again: continue
            }
        }
        try await report(progress)
    }

    /// Reports up to where nothing waits.
    func report(_ done: [PushProgress.Done]) async throws {
        var progress = PushProgress(service, by: lease.grant)
        progress.done = done
        try await report(progress)
    }

    private func report(_ progress: PushProgress) async throws {
        guard !progress.isEmpty else { return }
        var commands: [ClusterCommand] = []
        var (marks, invalid, done) =
            (progress.marks[...], progress.invalid[...], progress.done[...])
        while !(marks.isEmpty && invalid.isEmpty && done.isEmpty) {
            var part = PushProgress(service, by: progress.grant)
            part.marks = Array(marks.prefix(Self.together))
            part.invalid = Array(invalid.prefix(Self.together))
            part.done = Array(done.prefix(Self.together))
            marks = marks.dropFirst(Self.together)
            invalid = invalid.dropFirst(Self.together)
            done = done.dropFirst(Self.together)
            commands.append(.pushed(part))
        }
        try await perform(commands)
    }

    /// So many of each kind fit into an entry, with the longest names and addresses.
    private static let together = 128

    private func perform(_ commands: [ClusterCommand]) async throws {
        for case .refused(let error) in try await submit(commands) { throw error }
    }
}

extension PushAddress {
    /// What names it: the token, or the endpoint.
    fileprivate var text: String {
        switch self {
        case .apns(let token): token.text
        case .webPush(let subscription): subscription.endpoint
        }
    }
}
