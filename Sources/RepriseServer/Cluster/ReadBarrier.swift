import RepriseCore

/// Brings a gateway to at least the journal's end at the time of the call: what was acknowledged
/// anywhere before is then read here.
///
/// An empty command is written and applied. Who calls meanwhile shares the next one: so there are
/// never more than two for any number of callers.
package actor ReadBarrier {
    private let submit: CommandSubmission
    private var running: Task<Void, any Error>?
    private var next: Task<Void, any Error>?

    package init(submit: @escaping CommandSubmission) { self.submit = submit }

    /// - Throws: ``RepriseCore/RepriseError`` `.unavailable` if the journal cannot be written.
    package func pass() async throws {
        if let next { return try await next.value }
        let before = running
        let task = Task {
            // One that is under way may have been ordered before this call.
            _ = await before?.result
            began()
            do {
                _ = try await submit([.nop])
            } catch let error as RepriseError where error.code == .unavailable {
                throw RepriseError(
                    .unavailable,
                    "The cluster's journal is not there: what is stored now is unknown.",
                    remedy: "Try again.")
            }
        }
        if before == nil { running = task } else { next = task }
        try await task.value
    }

    /// The next is the one under way: who comes now needs another.
    private func began() {
        guard let next else { return }
        (running, self.next) = (next, nil)
    }
}
