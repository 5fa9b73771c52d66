import RepriseServer

/// A shutdown in good order: what `Server` and its gateway do when the process is told to end.
extension ServerLife {
    /// Whoever is there or comes is told to come back, what was accepted is stored and answered,
    /// and then the process may end.
    ///
    /// - Parameter done: not called if the process is killed meanwhile.
    func shutDown(then done: @escaping () -> Void) {
        isQuiescing = true
        for connection in inOrder { connection.quiesce() }
        flush()
        leave(at: now + server.settings.limits.shutdown, done)
    }

    /// The committer takes nothing more once all connections have ended, or the time for that is
    /// up.
    private func leave(at deadline: Duration, _ done: @escaping () -> Void) {
        simulation.after(.milliseconds(20), on: process) { [self] in
            guard inOrder.isEmpty || now >= deadline else { return leave(at: deadline, done) }
            queue.close()
            whenStored(done)
        }
    }

    private func whenStored(_ done: @escaping () -> Void) {
        guard isStoring, mutation != .shutdownUnanswered else {
            if unanswered > 0 {
                simulation.violated(
                    .recorded, "\(server.name) has shut down, and \(unanswered) were not answered")
            }
            return done()
        }
        simulation.after(.milliseconds(5), on: process) { [self] in whenStored(done) }
    }
}
