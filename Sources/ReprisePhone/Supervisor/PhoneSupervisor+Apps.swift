import Foundation
import NIOCore
import RepriseCore

/// Handles the apps' messages.
extension PhoneSupervisor {
    /// Accepts a process by its token.
    func connect(_ token: String, _ connection: LineConnection) -> Int? {
        guard let life = tokens.removeValue(forKey: token), let app = machine.app(of: life) else {
            return nil
        }
        do {
            let (launch, actions) = try decide { $0.connected(life: life, at: $1) }
            guard let launch else { return nil }
            peers[life] = connection
            connection.send(
                PhoneMessage.welcome(
                    AppWelcome(
                        app: app, launch: launch, folder: folder.data(of: app).path,
                        clock: machine.state.clock, network: machine.state.network,
                        device: machine.state.device, rules: machine.state.rules)))
            _ = perform(actions)
            return life
        } catch {
            end(error)
            return nil
        }
    }

    func hear(_ line: ByteBuffer?, from life: Int, _ connection: LineConnection) async {
        switch try? PhoneJSON.decode(AppMessage.self, from: line) {
        case nil: note(.nonsense, machine.app(of: life), "A line is no message of an app.")
        case .returned(let order, let options):
            step { $0.returned(life: life, order: order, options: options, at: $1) }
        case .report(let what, let detail, let microseconds):
            report(life, what, detail, microseconds)
        case .call(let id, .browser): answerBrowser(id, connection)
        case .call(let id, let call):
            do {
                let (answer, actions) = try decide { $0.called(life: life, call, at: $1) }
                if let answer {
                    connection.send(
                        PhoneMessage.answer(id: id, withProgress(answer, life: life)))
                }
                _ = perform(actions)
            } catch {
                end(error)
            }
        }
    }

    func answerBrowser(_ id: Int, _ connection: LineConnection) {
        // It may take a second to start: other messages are handled meanwhile.
        Task { [phoneBrowser] in
            let answer: AppAnswer
            do {
                answer = .browser(try await phoneBrowser.address())
            } catch let error as RepriseError {
                answer = .failed(PhoneFailure(error.code, error.message, remedy: error.remedy))
            } catch {
                answer = .failed(PhoneFailure(.unavailable, "\(error)"))
            }
            connection.send(PhoneMessage.answer(id: id, answer))
        }
    }

    func report(_ life: Int, _ what: String, _ detail: String, _ microseconds: Int64) {
        guard let app = machine.app(of: life) else { return }
        let now = now()
        // An observation is a little older than its arrival, never newer.
        let when = max(now.microseconds - 60_000_000, min(microseconds, now.microseconds))
        let late = (now.microseconds - when) / 1_000
        put(
            PhoneEvent(
                number: 0, at: now.wall.advanced(by: .milliseconds(-late)), microseconds: when,
                app: app, what: "app." + what.limited(to: 64), detail: detail))
    }
}
