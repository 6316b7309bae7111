package s3load

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
)

const (
	inlineLimit = 3072    // Garage keeps what is shorter in the object's row
	blockSize   = 1 << 20 // Garage's default: longer objects have more than one block
	smallest    = 128     // leaves room for the first line
	onePiece    = 32 << 10
	partSize    = 384 << 10
)

// shape is how a write is made: in one PUT of size bytes, or in several parts.
type shape struct {
	size  int
	parts []int // sizes; empty for a PUT
}

// seed is different for each write; nothing else about a write is random.
func seed(key string, sequence uint64) [32]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%s %d", key, sequence))
}

// shapeOf is the shape of a write: of 100, 64 are kept in the row, 32 are one block, 2 are more than one block and
// 2 are multipart uploads of three parts, in which a part, too, may be small.
func shapeOf(key string, sequence uint64) shape {
	s := seed(key, sequence)
	choice, number := binary.BigEndian.Uint32(s[0:])%100, func(at, from, to int) int {
		return from + int(binary.BigEndian.Uint32(s[at:])%uint32(to-from))
	}
	switch {
	case choice < 64:
		return shape{size: number(4, smallest, inlineLimit)}
	case choice < 96:
		return shape{size: number(4, inlineLimit, onePiece)}
	case choice < 98:
		return shape{size: number(4, blockSize+1, blockSize+blockSize/4)}
	}
	parts := []int{number(4, smallest, partSize), number(8, smallest, partSize), number(12, 1, inlineLimit)}
	return shape{size: parts[0] + parts[1] + parts[2], parts: parts}
}

// content is what a write puts under its key: a line with key, sequence and size, then what follows from them.
func content(key string, sequence uint64) []byte {
	size := shapeOf(key, sequence).size
	whole := make([]byte, size)
	n := copy(whole, firstLine(key, sequence, size))
	_, _ = fill(key, sequence).Read(whole[n:]) // never fails
	return whole
}

func firstLine(key string, sequence uint64, size int) string {
	return fmt.Sprintf("%s %d %d\n", key, sequence, size)
}

func fill(key string, sequence uint64) *rand.ChaCha8 { return rand.NewChaCha8(seed(key, sequence)) }

// corruption says what is wrong with a content.
type corruption struct{ what string }

func (c *corruption) Error() string { return c.what }

// examine reads a content to its end and says of which write of the key it is. The error is a *corruption when it
// is of none, and else what reading failed with.
func examine(from io.Reader, key string) (sequence uint64, err error) {
	r := bufio.NewReaderSize(from, 4096)
	line, err := r.ReadSlice('\n')
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return 0, err
	}
	var size int
	if _, scan := fmt.Sscanf(string(line), key+" %d %d\n", &sequence, &size); scan != nil || string(line) != firstLine(key, sequence, size) {
		return 0, &corruption{what: fmt.Sprintf("the content begins with %.60q", line)}
	}
	if want := shapeOf(key, sequence).size; size != want {
		return 0, &corruption{what: fmt.Sprintf("the content of write %d says that it has %d bytes, it had %d", sequence, size, want)}
	}
	return sequence, compare(r, fill(key, sequence), len(line), size)
}

// compare reads got from that offset to its end, which must be at size, and holds it against want.
func compare(got io.Reader, want *rand.ChaCha8, at, size int) error {
	have, wanted := make([]byte, 32<<10), make([]byte, 32<<10)
	for at < size {
		n, err := got.Read(have[:min(size-at, len(have))])
		_, _ = want.Read(wanted[:n]) // never fails
		if !bytes.Equal(have[:n], wanted[:n]) {
			return &corruption{what: fmt.Sprintf("the content differs after byte %d of %d", at, size)}
		}
		at += n
		// An answer that is cut off on its way ends with another error than this.
		if errors.Is(err, io.EOF) && at < size {
			return &corruption{what: fmt.Sprintf("the content ends after byte %d of %d", at, size)}
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
	if n, err := got.Read(have[:1]); n > 0 {
		return &corruption{what: fmt.Sprintf("the content goes on after its %d bytes", size)}
	} else if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}
