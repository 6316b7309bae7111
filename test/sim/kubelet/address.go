package kubelet

import (
	"errors"
	"fmt"
	"net"
	"os"
)

// addresses hands out loopback addresses that no other test process uses. They come in blocks of 127.A.B.0/24;
// a block belongs to whoever listens on the first address's claim port.
type addresses struct {
	claim net.Listener
	a, b  int
	last  int
}

const claimPort = 6666

func (s *addresses) next() (string, error) {
	if s.claim == nil || s.last == 254 {
		if err := s.newBlock(); err != nil {
			return "", err
		}
	}
	s.last++
	return fmt.Sprintf("127.%d.%d.%d", s.a, s.b, s.last), nil
}

func (s *addresses) newBlock() error {
	s.release()
	var last error
	for i := range 64 * 256 {
		n := (os.Getpid() + i) % (64 * 256)
		a, b := 64+n/256, n%256
		claim, err := net.Listen("tcp", fmt.Sprintf("127.%d.%d.1:%d", a, b, claimPort))
		if err == nil {
			s.claim, s.a, s.b, s.last = claim, a, b, 1
			return nil
		}
		last = err
	}
	return errors.Join(errors.New("every block of loopback addresses is taken"), last)
}

func (s *addresses) release() {
	if s.claim != nil {
		_ = s.claim.Close()
		s.claim = nil
	}
}
