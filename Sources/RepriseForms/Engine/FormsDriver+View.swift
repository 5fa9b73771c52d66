import RepriseCore
import Synchronization

/// The web view: opened, listened to, talked to and closed.
extension FormsDriver {
    func open(_ life: Int) {
        guard let host else { return }
        let session = EntryID.random().text
        Task { [inbox] in
            let result: Result<any HostedWebView, any Error>
            do {
                result = .success(try await host.open(FormsPage.page(session: session)))
            } catch {
                result = .failure(error)
            }
            guard !inbox.put(.opened(life: life, session: session, result)) else { return }
            if case .success(let view) = result { await view.close() }
        }
    }

    func opened(
        _ life: Int, _ session: String, _ result: Result<any HostedWebView, any Error>,
        at now: Duration
    ) async {
        switch result {
        case .failure(let error):
            guard life == machine.life else { return }
            await perform(
                machine.viewLost(reason: "There is no web view: \(error)", at: now))
        case .success(let view):
            guard life == machine.life else { return await view.close() }
            self.view = attach(view, life)
            await perform(machine.viewOpened(session: session, at: now))
        }
    }

    func attach(_ view: any HostedWebView, _ life: Int) -> View {
        let (outgoing, continuation) = AsyncStream.makeStream(
            of: [UInt8].self, bufferingPolicy: .bufferingOldest(FormsEngineLimits.pageMessages))
        let reader = Task { [weak self, inbox] in
            for await event in view.events {
                switch event {
                case .message(let text):
                    guard self?.said(text, in: life) == true else {
                        inbox.put(.lost(life: life, reason: "The page says too much."))
                        return
                    }
                case .terminated(let reason): inbox.put(.lost(life: life, reason: reason))
                }
            }
            inbox.put(.lost(life: life, reason: "The web view has ended."))
        }
        let writer = Task { [inbox] in
            for await message in outgoing {
                do {
                    try await view.send(message)
                } catch {
                    guard !Task.isCancelled else { return }
                    inbox.put(.lost(life: life, reason: "The page takes nothing: \(error)"))
                    return
                }
            }
        }
        return View(view: view, outgoing: continuation, tasks: [reader, writer])
    }

    /// - Returns: false if too many messages wait.
    private nonisolated func said(_ text: [UInt8], in life: Int) -> Bool {
        let hasRoom = unread.withLock { unread in
            unread += 1
            return unread <= FormsEngineLimits.pageMessages
        }
        return hasRoom && inbox.put(.said(life: life, text))
    }

    func send(_ message: [UInt8]) {
        guard let view else { return }
        if case .dropped = view.outgoing.yield(message) {
            inbox.put(.lost(life: machine.life, reason: "The page takes nothing."))
        }
    }

    /// Does not wait: a web view that hangs must not keep the next one waiting.
    func close() {
        guard let former = view else { return }
        view = nil
        former.outgoing.finish()
        for task in former.tasks { task.cancel() }
        closing = Task { [closing] in
            await former.view.setVisible(false)
            await former.view.close()
            await closing?.value
        }
    }
}
